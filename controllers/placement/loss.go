package placement

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// lostDevices returns the devices of a plan's rows that are certainly lost. What cannot be seen is not lost: a missing
// inventory, one that no agent wrote yet, a backend that could not look, and health Unknown are no evidence. A cordoned
// device is not lost either: it takes no new work and keeps what it has.
func lostDevices(rows []v1alpha1.PlanRow, hosts mesh.Hosts) []v1alpha1.LostRank {
	var lost []v1alpha1.LostRank
	for _, row := range rows {
		for _, id := range row.Devices {
			if reason := lossOf(id, hosts[row.Node]); reason != "" {
				lost = append(lost, v1alpha1.LostRank{Replica: row.Replica, Node: row.Node, Device: id, Reason: reason})
			}
		}
	}
	return lost
}

// lossOf says why a device is lost; it returns nothing where it is not.
func lossOf(id v1alpha1.DeviceID, h mesh.Host) string {
	switch {
	case h.Gone:
		return "NodeGone"
	case h.Inventory == nil || !observed(h.Inventory):
		return ""
	}
	device := h.Inventory.Device(id)
	switch {
	case device == nil && couldLook(h.Inventory):
		return "DeviceGone"
	case device == nil || device.Health.State != v1alpha1.Unhealthy:
		return ""
	case device.Health.Reason != "":
		return "Unhealthy: " + device.Health.Reason
	default:
		return "Unhealthy"
	}
}

// observed says whether an agent wrote the status: the object is there a moment before its status.
func observed(status *v1alpha1.AcceleratorInventoryStatus) bool {
	return status.AgentVersion != "" || len(status.Devices) > 0 || len(status.Backends) > 0 || len(status.Conditions) > 0
}

// couldLook says whether every detection backend could look, so that a device that is not listed is not there.
func couldLook(status *v1alpha1.AcceleratorInventoryStatus) bool {
	return !slices.ContainsFunc(status.Backends, func(b v1alpha1.BackendStatus) bool { return b.State == v1alpha1.BackendFailed })
}

// withRanks adds the ranks that a mesh gives to lost devices.
func withRanks(lost []v1alpha1.LostRank, members []v1alpha1.MeshMember) []v1alpha1.LostRank {
	ranked := slices.Clone(lost)
	for i := range ranked {
		for _, m := range members {
			at := slices.Index(m.Devices, ranked[i].Device)
			if m.Node == ranked[i].Node && m.Replica == ranked[i].Replica && at >= 0 {
				ranked[i].Rank = m.FirstRank + int32(at)
			}
		}
	}
	return ranked
}
