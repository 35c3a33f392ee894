package nodeagent

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// specDiffers says whether the inventory is another one of its name or its spec changed: an administrator cordoned a
// device. The agent's own writes to the status do not change the generation.
func specDiffers(before, after any) bool {
	a, okA := before.(*metav1.PartialObjectMetadata)
	b, okB := after.(*metav1.PartialObjectMetadata)
	return okA && okB && (a.UID != b.UID || a.Generation != b.Generation)
}

// watchInventory calls changed whenever the node's inventory is created or deleted or its spec changes, until the context
// ends. An API server that is away is asked again and again.
//
// The Node itself is not watched: that would take the right to list all Nodes. When a Node is deleted, its inventory is
// collected with it, which is seen here; the agent then tries until there is a Node to publish for.
func watchInventory(ctx context.Context, c metadata.Interface, node string, changed func()) error {
	informer := metadatainformer.NewFilteredMetadataInformer(c, v1alpha1.GroupVersion.WithResource("acceleratorinventories"),
		metav1.NamespaceAll, 0, cache.Indexers{}, func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector("metadata.name", node).String()
		}).Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		DeleteFunc: func(any) { changed() },
		UpdateFunc: func(before, after any) {
			if specDiffers(before, after) {
				changed()
			}
		},
	})
	if err != nil {
		return err
	}
	// The informer is left to end by itself: after a refused connection it waits out its back-off, of up to half a
	// minute, whatever the context says.
	go informer.RunWithContext(ctx)
	<-ctx.Done()
	return nil
}
