package fleet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// WithStandIns returns nodes, with one for each inventory whose Node is not known: it is ready, and has the one label that every kubelet sets,
// the name of its host.
func WithStandIns(nodes []corev1.Node, inventories []v1alpha1.AcceleratorInventory) []corev1.Node {
	all, known := slices.Clone(nodes), make(map[string]bool, len(nodes))
	for i := range nodes {
		known[nodes[i].Name] = true
	}
	for i := range inventories {
		if name := inventories[i].Name; !known[name] {
			all = append(all, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}})
		}
	}
	return all
}
