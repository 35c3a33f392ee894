package nodeagent

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// place says where the host is, and what was rented, by the labels that the cluster's cloud controller gives its Node. A host's
// own word of its instance type goes first: it is what runs, whatever the Node was labelled.
func place(host *v1alpha1.Host, labels map[string]string) {
	host.Region = cmp.Or(labels[corev1.LabelTopologyRegion], host.Region)
	host.Zone = cmp.Or(labels[corev1.LabelTopologyZone], host.Zone)
	host.InstanceType = cmp.Or(host.InstanceType, labels[corev1.LabelInstanceTypeStable])
}
