package serving

import (
	"slices"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/preference"
)

// offering is a pool with all that its server answers from: the status is of the whole node. It does not change: a new one takes
// its place.
type offering struct {
	pool     resourcePool
	status   *v1alpha1.AcceleratorInventoryStatus
	topology *preference.Topology
}

// list is the offering as the kubelet takes it.
func (o *offering) list() *pluginapi.ListAndWatchResponse {
	response := &pluginapi.ListAndWatchResponse{}
	for _, entry := range o.pool.Entries {
		device := &pluginapi.Device{ID: entry.ID, Health: pluginapi.Unhealthy}
		if entry.Healthy {
			device.Health = pluginapi.Healthy
		}
		if entry.NUMA != nil {
			device.Topology = &pluginapi.TopologyInfo{Nodes: []*pluginapi.NUMANode{{ID: int64(*entry.NUMA)}}}
		}
		response.Devices = append(response.Devices, device)
	}
	return response
}

// sameList says whether the kubelet would be told the same of both.
func sameList(a, b resourcePool) bool {
	return slices.EqualFunc(a.Entries, b.Entries, func(a, b listing) bool {
		return a.ID == b.ID && a.Healthy == b.Healthy && (a.NUMA == nil) == (b.NUMA == nil) && (a.NUMA == nil || *a.NUMA == *b.NUMA)
	})
}
