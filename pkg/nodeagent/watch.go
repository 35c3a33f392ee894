package nodeagent

import (
	"context"
	"maps"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// watched are the objects whose changes by others matter, with what matters about them.
var watched = []struct {
	resource schema.GroupVersionResource
	differs  func(before, after *metav1.PartialObjectMetadata) bool
}{
	{v1alpha1.GroupVersion.WithResource("acceleratorinventories"), specDiffers},
	{corev1.SchemeGroupVersion.WithResource("nodes"), nodeDiffers},
}

// specDiffers says whether the spec changed: an administrator cordoned a device. The agent's own writes to the status
// do not change the generation.
func specDiffers(before, after *metav1.PartialObjectMetadata) bool {
	return before.UID != after.UID || before.Generation != after.Generation
}

// nodeDiffers says whether the Node is another one of its name, or somebody changed labels of ours.
func nodeDiffers(before, after *metav1.PartialObjectMetadata) bool {
	return before.UID != after.UID || !maps.Equal(ourLabels(before), ourLabels(after))
}

func ourLabels(object *metav1.PartialObjectMetadata) map[string]string {
	labels := map[string]string{}
	for key, value := range object.Labels {
		if strings.HasPrefix(key, v1alpha1.Prefix) {
			labels[key] = value
		}
	}
	return labels
}

// watchOwn calls changed whenever the node's inventory or Node is created, deleted or changed in what matters, until the
// context ends. Only metadata of these two objects is watched; an API server that is away is asked again and again.
func watchOwn(ctx context.Context, c metadata.Interface, node string, changed func()) {
	var group sync.WaitGroup
	defer group.Wait()
	for _, w := range watched {
		informer := metadatainformer.NewFilteredMetadataInformer(c, w.resource, metav1.NamespaceAll, 0, cache.Indexers{},
			func(options *metav1.ListOptions) {
				options.FieldSelector = fields.OneTermEqualSelector("metadata.name", node).String()
			}).Informer()
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed() },
			DeleteFunc: func(any) { changed() },
			UpdateFunc: func(before, after any) {
				a, okA := before.(*metav1.PartialObjectMetadata)
				b, okB := after.(*metav1.PartialObjectMetadata)
				if okA && okB && w.differs(a, b) {
					changed()
				}
			},
		})
		if err != nil {
			// Only an informer that has been stopped refuses a handler.
			return
		}
		group.Go(func() { informer.RunWithContext(ctx) })
	}
}
