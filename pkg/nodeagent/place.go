package nodeagent

import (
	"cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Well-known labels of Nodes. The package of the typed API that names them would cost the agent megabytes.
const (
	labelRegion       = "topology.kubernetes.io/region"
	labelZone         = "topology.kubernetes.io/zone"
	labelInstanceType = "node.kubernetes.io/instance-type"
)

// place says where the host is, and what was rented, by the labels that the cluster's cloud controller gives its Node. A host's
// own word of its instance type goes first: it is what runs, whatever the Node was labelled.
func place(host *v1alpha1.Host, labels map[string]string) {
	host.Region = cmp.Or(labels[labelRegion], host.Region)
	host.Zone = cmp.Or(labels[labelZone], host.Zone)
	host.InstanceType = cmp.Or(host.InstanceType, labels[labelInstanceType])
}
