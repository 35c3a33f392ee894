package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
)

func TestLossNeedsEvidence(t *testing.T) {
	of := func(devices ...v1alpha1.Device) *v1alpha1.AcceleratorInventoryStatus {
		return &v1alpha1.AcceleratorInventoryStatus{AgentVersion: "1", Devices: devices}
	}
	in := func(state v1alpha1.HealthState, reason string) v1alpha1.Device {
		return v1alpha1.Device{ID: "d", Health: v1alpha1.DeviceHealth{State: state, Reason: reason}}
	}
	blind := of()
	blind.Backends = []v1alpha1.BackendStatus{{Name: "nvidia", State: v1alpha1.BackendFailed}}
	for name, c := range map[string]struct {
		host mesh.Host
		want string
	}{
		"healthy":                  {mesh.Host{Inventory: of(in(v1alpha1.Healthy, ""))}, ""},
		"degraded":                 {mesh.Host{Inventory: of(in(v1alpha1.Degraded, ""))}, ""},
		"unknown":                  {mesh.Host{Inventory: of(in(v1alpha1.Unknown, ""))}, ""},
		"no inventory":             {mesh.Host{}, ""},
		"inventory without status": {mesh.Host{Inventory: &v1alpha1.AcceleratorInventoryStatus{}}, ""},
		"a backend could not look": {mesh.Host{Inventory: blind}, ""},
		"unhealthy":                {mesh.Host{Inventory: of(in(v1alpha1.Unhealthy, ""))}, "Unhealthy"},
		"unhealthy with a cause":   {mesh.Host{Inventory: of(in(v1alpha1.Unhealthy, "Xid79"))}, "Unhealthy: Xid79"},
		"device gone":              {mesh.Host{Inventory: of()}, "DeviceGone"},
		"node gone":                {mesh.Host{Gone: true, Inventory: of(in(v1alpha1.Healthy, ""))}, "NodeGone"},
	} {
		if got := lossOf("d", c.host); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestLostDevicesGetTheirRanks(t *testing.T) {
	rows := []v1alpha1.PlanRow{
		{Node: "n", Devices: []v1alpha1.DeviceID{"a", "b"}},
		{Node: "gone", Replica: 1, Devices: []v1alpha1.DeviceID{"a", "b"}},
	}
	hosts := mesh.Hosts{"n": {}, "gone": {Gone: true}}
	members := []v1alpha1.MeshMember{
		{Node: "n", Devices: []v1alpha1.DeviceID{"a", "b"}},
		{Node: "gone", Replica: 1, FirstRank: 4, Devices: []v1alpha1.DeviceID{"b", "a"}},
	}
	want := []v1alpha1.LostRank{
		{Replica: 1, Rank: 5, Node: "gone", Device: "a", Reason: "NodeGone"},
		{Replica: 1, Rank: 4, Node: "gone", Device: "b", Reason: "NodeGone"},
	}
	if diff := cmp.Diff(want, withRanks(lostDevices(rows, hosts), members)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
