package serving

import (
	"slices"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/preference"
)

// offering is a pool with all that its server answers from. It does not change: a new one takes its place.
type offering struct {
	pool     Pool
	entries  map[string]Entry
	topology *preference.Topology
	// node are all devices of the node, devices the pool's by their ids.
	node    []v1alpha1.Device
	devices map[v1alpha1.DeviceID]v1alpha1.Device
}

// newOffering keeps the status, which must not change.
func newOffering(pool Pool, status *v1alpha1.AcceleratorInventoryStatus, topology *preference.Topology) *offering {
	o := &offering{
		pool: pool, entries: make(map[string]Entry, len(pool.Entries)), topology: topology, node: status.Devices,
		devices: map[v1alpha1.DeviceID]v1alpha1.Device{},
	}
	for _, entry := range pool.Entries {
		o.entries[entry.ID] = entry
		if d := status.Device(entry.Device); d != nil {
			o.devices[d.ID] = *d
		}
	}
	return o
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
func sameList(a, b Pool) bool {
	return slices.EqualFunc(a.Entries, b.Entries, func(a, b Entry) bool {
		return a.ID == b.ID && a.Healthy == b.Healthy && (a.NUMA == nil) == (b.NUMA == nil) && (a.NUMA == nil || *a.NUMA == *b.NUMA)
	})
}

// healthy is the number of offers that new pods may get.
func (p Pool) healthy() int {
	count := 0
	for _, entry := range p.Entries {
		if entry.Healthy {
			count++
		}
	}
	return count
}
