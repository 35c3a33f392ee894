package operator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/meshes"
)

func TestInformersKeepWhatIsRead(t *testing.T) {
	written := []metav1.ManagedFieldsEntry{{Manager: "somebody"}}
	claim := func(owners []metav1.OwnerReference, writers []metav1.ManagedFieldsEntry) *resourcev1.ResourceClaim {
		return &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "a-0", OwnerReferences: owners, ManagedFields: writers},
			Spec:       resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "r"}}}},
			Status:     resourcev1.ResourceClaimStatus{ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Name: "pod"}}},
		}
	}
	node := func(images []corev1.ContainerImage, writers []metav1.ManagedFieldsEntry) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"rack": "r1"}, ManagedFields: writers},
			Status:     corev1.NodeStatus{Images: images, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		}
	}
	own := []metav1.OwnerReference{meshes.Owner(&v1alpha1.DeviceMesh{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid"}})}
	options, err := cacheOptions()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ whole, want client.Object }{
		"a node":            {node([]corev1.ContainerImage{{Names: []string{"image"}}}, written), node(nil, nil)},
		"a mesh's claim":    {claim(own, written), claim(own, nil)},
		"a claim of others": {claim(nil, written), &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "a-0"}}},
		"another kind":      {&v1alpha1.DeviceMesh{ObjectMeta: metav1.ObjectMeta{ManagedFields: written}}, &v1alpha1.DeviceMesh{}},
	} {
		got, err := options.DefaultTransform(c.whole)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
