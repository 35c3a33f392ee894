package nodeagent

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/nodeagent/dra"
	"github.com/rankwright/rankwright/pkg/nodeagent/health"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

var (
	byNVIDIA = v1alpha1.DeviceService{Server: v1alpha1.ServedByDevicePlugin, Resource: "nvidia.com/gpu"}
	byClaims = v1alpha1.DeviceService{Server: v1alpha1.ServedByRankwright, Resource: v1alpha1.DRADriver}
)

func TestNext(t *testing.T) {
	found := backends(backendIs("nvidia", v1alpha1.BackendFound))
	xid, _ := health.XID(79)
	mine := []v1alpha1.Allocation{{Device: h100(0).ID, Namespace: "n", Pod: "p", Resource: "nvidia.com/gpu"}}
	hot := map[v1alpha1.DeviceID]backend.Signs{h100(0).ID: {Suspicions: []v1alpha1.DeviceHealth{{State: v1alpha1.Degraded, Reason: "Overheated"}}}}
	soon, minute := later.Add(time.Second), later.Add(memoryInterval)
	tests := map[string]struct {
		previous known
		detected detection
		view     view
		// says is what is compared of the outcome, by name.
		says func(nextState) any
		want any
	}{
		"a device that others serve": {
			known{},
			detection{status: status(found, h100(0)), scan: 1},
			view{kubelet: seen{owners: podresources.Owners{h100(0).ID: byNVIDIA}}},
			func(n nextState) any { return *n.status.Devices[0].Service }, byNVIDIA,
		},
		"a device that nobody serves any more": {
			known{status: status(found, h100(0, servedBy(byNVIDIA)))},
			detection{status: status(found), scan: 1},
			view{},
			func(n nextState) any { return n.status.Devices[0].Service }, (*v1alpha1.DeviceService)(nil),
		},
		"a device that claims of this agent select": {
			known{},
			detection{status: status(found, h100(0)), scan: 1},
			view{kubelet: seen{owners: podresources.Owners{h100(0).ID: byClaims}}},
			func(n nextState) any { return n.status.Devices[0].ClaimAttribute }, dra.Selector(h100(0).ID),
		},
		"allocations as they were": {
			known{status: v1alpha1.AcceleratorInventoryStatus{Allocations: mine}},
			detection{status: status(found, h100(0)), scan: 1},
			view{},
			func(n nextState) any { return n.status.Allocations }, mine,
		},
		"allocations that ended": {
			known{status: v1alpha1.AcceleratorInventoryStatus{Allocations: mine}},
			detection{status: status(found, h100(0)), scan: 1},
			view{kubelet: seen{rows: &[]v1alpha1.Allocation{}}},
			func(n nextState) any { return n.status.Allocations },
			[]v1alpha1.Allocation{},
		},
		"where the Node is": {
			known{},
			detection{status: status(found), scan: 1},
			view{node: map[string]string{labelZone: "z"}},
			func(n nextState) any { return n.status.Host.Zone }, "z",
		},
		"a fault, told as a change": {
			known{status: status(found, h100(0))},
			detection{status: status(found, h100(0)), scan: 1},
			view{faults: []deviceFault{{pci: h100(0).PCI.Address, signal: xid}}},
			func(n nextState) any { return []string{n.status.Devices[0].Health.Reason, n.changes[0].after.Reason} },
			[]string{"XID79", "XID79"},
		},
		"a device that is missed for the first time": {
			known{status: status(found, h100(0))},
			detection{status: status(found), scan: 1},
			view{},
			func(n nextState) any { return []any{n.status.Devices[0].Health.Reason, n.missed} },
			[]any{"NotSeen", true},
		},
		"a suspicion, to be looked at again": {
			known{},
			detection{status: status(found, h100(0)), scan: 1, signs: hot},
			view{},
			func(n nextState) any { return []any{n.status.Devices[0].Health.State, n.recheck} },
			[]any{v1alpha1.Healthy, true},
		},
		"the same suspicion in the next scan": {
			known{signs: hot, scan: 1},
			detection{status: status(found, h100(0)), scan: 2, signs: hot},
			view{},
			func(n nextState) any { return []any{n.status.Devices[0].Health.Reason, n.recheck} },
			[]any{"Overheated", false},
		},
		"the same suspicion of the same scan": {
			known{signs: hot, scan: 1},
			detection{status: status(found, h100(0)), scan: 1, signs: hot},
			view{},
			func(n nextState) any { return n.status.Devices[0].Health.State }, v1alpha1.Healthy,
		},
		"signs of a device that is missed stay": {
			known{status: status(found, h100(0)), signs: hot},
			detection{status: status(found), scan: 1},
			view{},
			func(n nextState) any { return n.signs }, hot,
		},
		"signs of a device that is gone go": {
			known{signs: hot},
			detection{status: status(found), scan: 1},
			view{},
			func(n nextState) any { return len(n.signs) }, 0,
		},
		"memory that may not be published yet": {
			known{status: status(found, h100(0)), memoryAt: later.Time},
			detection{status: status(found, h100(0, usedByOthers(40_770))), scan: 1},
			view{},
			func(n nextState) any { return []any{n.status.Devices[0].Memory.UsedByOthersMiB, n.due, n.memoryAt} },
			[]any{int64(0), minute, later.Time},
		},
		"memory that is published": {
			known{status: status(found, h100(0))},
			detection{status: status(found, h100(0, usedByOthers(40_770))), scan: 1},
			view{},
			func(n nextState) any { return []any{n.status.Devices[0].Memory.UsedByOthersMiB, n.due, n.memoryAt} },
			[]any{int64(40_770), time.Time{}, later.Time},
		},
		"a server that is away loses its devices then": {
			known{},
			detection{status: status(found), scan: 1},
			view{kubelet: seen{next: soon}},
			func(n nextState) any { return n.due }, soon,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, detected := *tc.previous.status.DeepCopy(), *tc.detected.status.DeepCopy()
			got := next(tc.previous, tc.detected, tc.view, later)
			if diff := cmp.Diff(tc.want, tc.says(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.previous.status) + cmp.Diff(detected, tc.detected.status); diff != "" {
				t.Errorf("arguments were changed:\n%s", diff)
			}
			if again := next(tc.previous, tc.detected, tc.view, later); !cmp.Equal(got.status, again.status) {
				t.Error("the same arguments give another status")
			}
		})
	}
}

func servedBy(s v1alpha1.DeviceService) func(*v1alpha1.Device) {
	return func(d *v1alpha1.Device) { d.Service = &s }
}

// fakeServer serves what nobody else does.
type fakeServer struct {
	offered v1alpha1.AcceleratorInventoryStatus
}

func (f *fakeServer) Update(_, status *v1alpha1.AcceleratorInventoryStatus, _ v1alpha1.AcceleratorInventorySpec,
) map[v1alpha1.DeviceID]v1alpha1.DeviceService {
	f.offered = *status.DeepCopy()
	services := map[v1alpha1.DeviceID]v1alpha1.DeviceService{}
	for _, d := range status.Devices {
		if d.Service == nil || d.Service.Server == v1alpha1.ServedByRankwright {
			services[d.ID] = byClaims
		}
	}
	return services
}

func (*fakeServer) Run(context.Context) {}

func (f *fakeServer) Account() serving.Account { return serving.Account{} }

// While the API server is away, what another server has stays its own, and what an event tells of a device counts.
func TestServingWhileTheAPIServerIsAway(t *testing.T) {
	found := backends(backendIs("nvidia", v1alpha1.BackendFound))
	server, events := &fakeServer{}, &deviceHealth{}
	p := &publisher{servers: servers{server}, health: events, clock: clocktesting.NewFakePassiveClock(later.Time)}
	detected := detection{status: status(found, h100(0), h100(1)), scan: 1}
	p.serveUnpublished(detected)
	if len(server.offered.Devices) != 0 {
		t.Error("devices were offered before anybody could say whose they are")
	}
	p.view = &view{kubelet: seen{owners: podresources.Owners{h100(0).ID: byNVIDIA}}}
	xid, _ := health.XID(79)
	events.fault(deviceFault{pci: h100(1).PCI.Address, signal: xid})
	p.serveUnpublished(detected)
	first, second := server.offered.Devices[0], server.offered.Devices[1]
	if first.Service == nil || *first.Service != byNVIDIA || second.Service != nil || second.Health.Reason != "XID79" {
		t.Errorf("offered %+v and %+v, want the first as another's, the second with its fault", first, second)
	}
}

// The agent's servers know better than an observation what it serves itself.
func TestServicesOfThisAgentAreAsItSays(t *testing.T) {
	former := v1alpha1.DeviceService{Server: v1alpha1.ServedByRankwright, Resource: "rankwright.dev/nvidia-gpu"}
	seenSo := view{kubelet: seen{owners: podresources.Owners{h100(0).ID: former, h100(1).ID: byNVIDIA, h100(2).ID: former}}}
	now := next(known{}, detection{status: status(nil, h100(0), h100(1), h100(2)), scan: 1}, seenSo, metav1.Time{}).status
	servers{&fakeServer{}}.serve(nil, &now, seenSo)
	var got []v1alpha1.DeviceService
	for _, d := range now.Devices {
		got = append(got, *d.Service)
	}
	if diff := cmp.Diff([]v1alpha1.DeviceService{byClaims, byNVIDIA, byClaims}, got); diff != "" {
		t.Error(diff)
	}
}
