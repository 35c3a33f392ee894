package serving

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

var testConfig = Config{Vendors: map[string]VendorConfig{
	"nvidia": {Serve: true, Injection: injection.CDI, Resources: map[string]string{"gpu": "nvidia.com/gpu"}},
}}

func gpu(number int, change ...func(*v1alpha1.Device)) v1alpha1.Device {
	d := v1alpha1.Device{
		ID: v1alpha1.DeviceID(fmt.Sprintf("nvidia-%d", number)), Vendor: "nvidia", Backend: "nvidia", Family: v1alpha1.FamilyGPU,
		Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
	}
	for _, f := range change {
		f(&d)
	}
	return d
}

func health(state v1alpha1.HealthState, reason string) func(*v1alpha1.Device) {
	return func(d *v1alpha1.Device) { d.Health.State, d.Health.Reason = state, reason }
}

func numa(node int32) func(*v1alpha1.Device) { return func(d *v1alpha1.Device) { d.NUMANode = &node } }

func servedBy(server v1alpha1.DeviceServer, resource string) func(*v1alpha1.Device) {
	return func(d *v1alpha1.Device) { d.Service = &v1alpha1.DeviceService{Server: server, Resource: resource} }
}

func statusOf(devices ...v1alpha1.Device) *v1alpha1.AcceleratorInventoryStatus {
	return &v1alpha1.AcceleratorInventoryStatus{Devices: devices}
}

// allocated has a pod hold a device that it got by a resource or from a driver.
func allocated(status *v1alpha1.AcceleratorInventoryStatus, resource string, number int) *v1alpha1.AcceleratorInventoryStatus {
	status.Allocations = []v1alpha1.Allocation{{Device: gpu(number).ID, Namespace: "models", Pod: "p", Resource: resource}}
	return status
}

// slot is the slot of the tests.
const slot = "rankwright.dev/slot-a"

// slotFor has the slot be that of a device.
func slotFor(number int, status *v1alpha1.AcceleratorInventoryStatus) *v1alpha1.AcceleratorInventoryStatus {
	status.Slots = []v1alpha1.Slot{{Device: gpu(number).ID, Resource: slot}}
	return status
}

// told prints pools as `resource: id id!`, where ! is what new pods do not get.
func told(pools []resourcePool) string {
	var lines []string
	for _, pool := range pools {
		line := pool.Resource + ":"
		for _, entry := range pool.Entries {
			line += " " + entry.ID
			if !entry.Healthy {
				line += "!"
			}
			if entry.NUMA != nil {
				line += fmt.Sprintf("@%d", *entry.NUMA)
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func TestPools(t *testing.T) {
	busy := func(offers ...Offer) map[Offer]bool {
		all := map[Offer]bool{}
		for _, offer := range offers {
			all[offer] = true
		}
		return all
	}
	throughDRA := Config{Vendors: map[string]VendorConfig{"nvidia": {Serve: true, Through: DRA, Injection: injection.CDI}}}
	shared := Config{Vendors: map[string]VendorConfig{"nvidia": {Serve: true, Injection: injection.CDI, Shares: 2}}}
	tests := []struct {
		name     string
		wanted   Wanted
		want     string
		withheld int
	}{
		{"nothing is served without being told", Wanted{Status: statusOf(gpu(0))}, "", 0},
		{"none of a vendor that goes through DRA", Wanted{Config: throughDRA, Status: statusOf(gpu(0))}, "", 0},
		{
			"what is still held by the plugin of a vendor that goes through DRA now",
			Wanted{Config: throughDRA, Status: statusOf(gpu(0), gpu(1)), Busy: busy(Offer{"nvidia.com/gpu", "nvidia-0"})},
			"nvidia.com/gpu: nvidia-0!", 0,
		},
		{
			"one that a pod got by a claim before",
			Wanted{Config: testConfig, Status: allocated(statusOf(gpu(0), gpu(1)), v1alpha1.DRADriver, 0)},
			"nvidia.com/gpu: nvidia-0! nvidia-1", 0,
		},
		{"healthy, degraded and unmonitored ones", Wanted{Config: testConfig, Status: statusOf(gpu(0), gpu(1, health(v1alpha1.Degraded, "x")),
			gpu(2, health(v1alpha1.Unknown, v1alpha1.ReasonNotMonitored)))}, "nvidia.com/gpu: nvidia-0 nvidia-1 nvidia-2", 0},
		{"unhealthy and unreadable ones are listed", Wanted{Config: testConfig, Status: statusOf(gpu(0, health(v1alpha1.Unhealthy, "XID79")),
			gpu(1, health(v1alpha1.Unknown, "NotSeen")), gpu(2))}, "nvidia.com/gpu: nvidia-0! nvidia-1! nvidia-2", 0},
		{
			"NUMA where it is known",
			Wanted{Config: testConfig, Status: statusOf(gpu(0, numa(1)), gpu(1, numa(-1)), gpu(2))},
			"nvidia.com/gpu: nvidia-0@1 nvidia-1 nvidia-2", 0,
		},
		{"cordoned ones stay listed", Wanted{
			Config: testConfig, Status: statusOf(gpu(0), gpu(1)),
			Spec: v1alpha1.AcceleratorInventorySpec{CordonedDevices: []v1alpha1.DeviceID{"nvidia-1"}},
		}, "nvidia.com/gpu: nvidia-0 nvidia-1!", 0},
		{
			"a vanished one that is held",
			Wanted{Config: testConfig, Status: statusOf(gpu(0)), Busy: busy(Offer{"nvidia.com/gpu", "nvidia-1"})},
			"nvidia.com/gpu: nvidia-0 nvidia-1!", 0,
		},
		{"shares", Wanted{Config: shared, Status: statusOf(gpu(0))}, "rankwright.dev/nvidia-gpu: nvidia-0/0 nvidia-0/1", 0},
		{
			"shares of a device that a pod holds whole",
			Wanted{Config: shared, Status: statusOf(gpu(0)), Busy: busy(Offer{"rankwright.dev/nvidia-gpu", "nvidia-0"})},
			"rankwright.dev/nvidia-gpu: nvidia-0!", 0,
		},
		{
			"a slot for a free device",
			Wanted{Config: testConfig, Status: slotFor(1, statusOf(gpu(0), gpu(1)))},
			"nvidia.com/gpu: nvidia-0; " + slot + ": nvidia-1", 0,
		},
		{"a slot for a device that is still in its pool", Wanted{
			Config: testConfig, Status: slotFor(1, statusOf(gpu(0), gpu(1))),
			Busy: busy(Offer{"nvidia.com/gpu", "nvidia-1"}),
		}, "nvidia.com/gpu: nvidia-0 nvidia-1!", 0},
		{
			"the slot that it leaves",
			Wanted{Config: testConfig, Status: statusOf(gpu(0), gpu(1)), Busy: busy(Offer{slot, "nvidia-1"})},
			"nvidia.com/gpu: nvidia-0; " + slot + ": nvidia-1!", 0,
		},
		{
			"one slot after another",
			Wanted{Config: testConfig, Status: slotFor(1, statusOf(gpu(1))), Busy: busy(Offer{slot + "b", "nvidia-1"})},
			slot + "b: nvidia-1!", 0,
		},
		{"a slot of a shared device has it whole", Wanted{Config: shared, Status: slotFor(1, statusOf(gpu(1)))}, slot + ": nvidia-1", 0},
		{"a slot of no device", Wanted{Config: testConfig, Status: slotFor(7, statusOf(gpu(0)))}, "nvidia.com/gpu: nvidia-0", 0},
		{
			"those of another server",
			Wanted{Config: testConfig, Status: statusOf(gpu(0, servedBy(v1alpha1.ServedByDRA, "gpu.nvidia.com")), gpu(1))},
			"nvidia.com/gpu: nvidia-1", 1,
		},
		{"a resource of another server", Wanted{
			Config: testConfig, Status: statusOf(gpu(0, servedBy(v1alpha1.ServedByDevicePlugin, "nvidia.com/gpu")), gpu(1)),
			Busy: busy(Offer{"nvidia.com/gpu", "nvidia-1"}),
		}, "", 2},
		{"held by a pod of a server that is gone", Wanted{
			Config: testConfig, Status: allocated(statusOf(gpu(0), gpu(1)), "gpu.nvidia.com", 0),
		}, "nvidia.com/gpu: nvidia-0! nvidia-1", 0},
		{"held by a pod of ours", Wanted{
			Config: testConfig, Status: allocated(statusOf(gpu(0), gpu(1)), "nvidia.com/gpu", 0),
		}, "nvidia.com/gpu: nvidia-0 nvidia-1", 0},
		{"a partition without profile", Wanted{Config: testConfig, Status: statusOf(partition("MIG", ""))}, "", 1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			pools, withheld := sortPools(tc.wanted)
			if diff := cmp.Diff(tc.want, told(pools)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(withheld) != tc.withheld {
				t.Errorf("withheld %v, want %d", withheld, tc.withheld)
			}
		})
	}
}

// However slots, cordons, health and holders change: no device can be had under two resources, and what is busy is listed.
func TestNoDeviceIsOfferedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Wanted{Config: testConfig, Status: statusOf(), Busy: map[Offer]bool{}}
		resources := []string{"nvidia.com/gpu", "rankwright.dev/slot-a", "rankwright.dev/slot-b"}
		for number := range 4 {
			id := gpu(number).ID
			if rapid.Bool().Draw(t, "there") {
				w.Status.Devices = append(w.Status.Devices, gpu(number, health(rapid.SampledFrom([]v1alpha1.HealthState{v1alpha1.Healthy, v1alpha1.Unhealthy}).Draw(t, "health"), "")))
			}
			if at := rapid.IntRange(0, 2).Draw(t, "slot"); at > 0 {
				w.Status.Slots = append(w.Status.Slots, v1alpha1.Slot{Device: id, Resource: resources[at]})
			}
			for _, resource := range resources {
				if rapid.Bool().Draw(t, "busy") {
					w.Busy[Offer{resource, string(id)}] = true
				}
			}
		}
		pools, _ := sortPools(w)
		healthy, listed := map[v1alpha1.DeviceID]string{}, map[Offer]bool{}
		for _, pool := range pools {
			for _, entry := range pool.Entries {
				offer := Offer{pool.Resource, entry.ID}
				if listed[offer] {
					t.Fatalf("%v is listed twice", offer)
				}
				listed[offer] = true
				if !entry.Healthy {
					continue
				}
				if other := healthy[entry.Device]; other != "" {
					t.Fatalf("%s can be had under %s and %s", entry.Device, other, pool.Resource)
				}
				healthy[entry.Device] = pool.Resource
				for _, resource := range resources {
					if resource != pool.Resource && w.Busy[Offer{resource, entry.ID}] {
						t.Fatalf("%s can be had under %s while it is busy under %s", entry.ID, pool.Resource, resource)
					}
				}
			}
			if !slices.IsSortedFunc(pool.Entries, func(a, b listing) int { return strings.Compare(a.ID, b.ID) }) {
				t.Fatalf("not in order: %s", told(pools))
			}
		}
		for offer := range w.Busy {
			if !listed[offer] {
				t.Fatalf("%v is busy and not listed: %s", offer, told(pools))
			}
		}
	})
}
