package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/losses"
)

func TestLostDevicesGetTheirRanks(t *testing.T) {
	rows := []v1alpha1.PlanRow{
		{Node: "n", Devices: []v1alpha1.DeviceID{"a", "b"}},
		{Node: "gone", Replica: 1, Devices: []v1alpha1.DeviceID{"a", "b"}},
	}
	lost := losses.Ranks([]v1alpha1.Loss{{Reason: v1alpha1.LossNodeGone, Node: "gone"}, {Reason: v1alpha1.LossDeviceUnhealthy, Node: "n", Device: "b", Message: "Xid79"}}, rows)
	members := []v1alpha1.MeshMember{
		{Node: "n", Devices: []v1alpha1.DeviceID{"a", "b"}},
		{Node: "gone", Replica: 1, FirstRank: 4, Devices: []v1alpha1.DeviceID{"b", "a"}},
	}
	want := []v1alpha1.LostRank{
		{Rank: 1, Node: "n", Device: "b", Reason: "DeviceUnhealthy: Xid79"},
		{Replica: 1, Rank: 5, Node: "gone", Device: "a", Reason: "NodeGone"},
		{Replica: 1, Rank: 4, Node: "gone", Device: "b", Reason: "NodeGone"},
	}
	if diff := cmp.Diff(want, withRanks(lost, members)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
