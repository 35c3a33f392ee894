package synthetic

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Labels of topology levels between a zone and a node, as Kueue's documentation names them.
const (
	LabelBlock = "cloud.provider.com/topology-block"
	LabelRack  = "cloud.provider.com/topology-rack"
)

const (
	blockRacks = 8
	zones      = 3
)

// labels returns a node's labels: blocks of racks, racks of nodes of one shape, and each block in the next zone.
func (s *Shape) labels(name string, number int) map[string]string {
	rack := number / s.rackNodes
	block := rack / blockRacks
	return map[string]string{
		corev1.LabelHostname:           name,
		corev1.LabelArchStable:         s.host.architecture,
		corev1.LabelOSStable:           "linux",
		corev1.LabelInstanceTypeStable: s.InstanceType,
		corev1.LabelTopologyRegion:     "synthetic",
		corev1.LabelTopologyZone:       "synthetic-" + string(rune('a'+block%zones)),
		LabelBlock:                     fmt.Sprintf("%s-block-%04d", s.Name, block),
		LabelRack:                      fmt.Sprintf("%s-rack-%05d", s.Name, rack),
	}
}
