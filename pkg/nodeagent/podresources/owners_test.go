package podresources

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
)

var three = []v1alpha1.Device{
	device("nvidia", v1alpha1.FamilyGPU, 1, uuid("GPU-a")),
	device("nvidia", v1alpha1.FamilyGPU, 2, uuid("GPU-b")),
	device("amd", v1alpha1.FamilyGPU, 3),
}

const first, second, third v1alpha1.DeviceID = "nvidia-0000:01:00.0", "nvidia-0000:02:00.0", "amd-0000:03:00.0"

var (
	byUs     = v1alpha1.DeviceService{Server: v1alpha1.ServedByRankwright, Resource: "rankwright.dev/nvidia-gpu"}
	byPlugin = v1alpha1.DeviceService{Server: v1alpha1.ServedByDevicePlugin, Resource: "nvidia.com/gpu"}
	byAMD    = v1alpha1.DeviceService{Server: v1alpha1.ServedByDevicePlugin, Resource: "amd.com/gpu"}
	byClaims = v1alpha1.DeviceService{Server: v1alpha1.ServedByRankwright, Resource: v1alpha1.DRADriver}
	byDriver = v1alpha1.DeviceService{Server: v1alpha1.ServedByDRA, Resource: "gpu.nvidia.com"}
)

func TestOwners(t *testing.T) {
	ours := func(resource string) bool { return resource == "nvidia.com/gpu" }
	tests := []struct {
		about    string
		evidence Evidence
		want     Owners
	}{
		{"nobody", Evidence{Offered: []Name{}}, Owners{}},
		{"us", Evidence{Offered: []Name{plugin(byUs.Resource, string(first)+"/0")}}, Owners{first: byUs}},
		{
			"us, under the vendor's name",
			Evidence{Offered: []Name{plugin("nvidia.com/gpu", string(first))}},
			Owners{first: {Server: v1alpha1.ServedByRankwright, Resource: "nvidia.com/gpu"}},
		},
		{"another plugin, one device of two", Evidence{Offered: []Name{plugin("nvidia.com/gpu", "GPU-b")}}, Owners{second: byPlugin}},
		{
			"both: the other one, and ours for the rest",
			Evidence{Offered: []Name{plugin("nvidia.com/gpu", "GPU-b"), plugin(byUs.Resource, string(first)), plugin(byUs.Resource, string(second))}},
			Owners{first: byUs, second: byPlugin},
		},
		{"a plugin whose ids tell nothing", Evidence{Offered: []Name{plugin("nvidia.com/gpu", "tegra")}}, Owners{first: byPlugin, second: byPlugin}},
		{
			"our driver, by the names of its devices",
			Evidence{Offered: []Name{}, Published: Published{claim(v1alpha1.DRADriver, devicename.Of(first)): {}, claim(v1alpha1.DRADriver, "of-a-device-that-went"): {}}},
			Owners{first: byClaims},
		},
		{
			"our driver and another: the other one",
			Evidence{Offered: []Name{}, Published: Published{
				claim(v1alpha1.DRADriver, devicename.Of(first)): {}, claim("gpu.nvidia.com", "x"): {UUID: "GPU-a"},
			}},
			Owners{first: byDriver},
		},
		{"a driver", Evidence{Offered: []Name{}, Published: Published{claim("gpu.nvidia.com", "x"): {UUID: "GPU-a"}}}, Owners{first: byDriver}},
		{
			"a plugin and a driver",
			Evidence{Offered: []Name{plugin("nvidia.com/gpu", "GPU-a")}, Published: Published{claim("gpu.nvidia.com", "x"): {UUID: "GPU-a"}}},
			Owners{first: byPlugin},
		},
		{"the Node alone", Evidence{Allocatable: map[string]int64{"nvidia.com/gpu": 2}}, Owners{first: byPlugin, second: byPlugin}},
		{"the Node alone, ours", Evidence{Allocatable: map[string]int64{"nvidia.com/gpu": 2}, Ours: ours}, Owners{}},
		{"the Node alone, a plugin that ended", Evidence{Allocatable: map[string]int64{"nvidia.com/gpu": 0}}, Owners{}},
		{"the kubelet knows better than the Node", Evidence{Offered: []Name{}, Allocatable: map[string]int64{"nvidia.com/gpu": 2}}, Owners{}},
		{"what is no accelerator", Evidence{Offered: []Name{plugin("example.com/fuse", "0")}, Allocatable: map[string]int64{"example.com/fuse": 1}}, Owners{}},
	}
	for _, tc := range tests {
		t.Run(tc.about, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, NewHardware(three, nil).Owners(tc.evidence)); diff != "" && tc.evidence.Published == nil {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, NewHardware(three, tc.evidence.Published).Owners(tc.evidence)); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSuccession(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	type moment struct {
		after time.Duration
		seen  Owners
		want  Owners
		next  time.Duration
	}
	all := Owners{first: byPlugin, second: byPlugin}
	us := Owners{first: byUs}
	tests := map[string][]moment{
		"a plugin that restarts loses nothing": {
			{0, all, all, 0},
			{time.Second, Owners{}, all, 5 * time.Minute},
			{2 * time.Second, all, all, 0},
		},
		"an unhealthy device is not offered and stays its server's": {
			{0, all, all, 0},
			{time.Hour, Owners{first: byPlugin}, all, 0},
			{2 * time.Hour, Owners{first: byPlugin}, all, 0},
		},
		"a plugin that is gone is succeeded after the grace": {
			{0, all, all, 0},
			{4 * time.Minute, us, all, 5 * time.Minute},
			{5 * time.Minute, us, us, 0},
			{6 * time.Minute, us, us, 0},
		},
		"another server succeeds at once": {
			{0, all, all, 0},
			{time.Second, Owners{first: byDriver, second: byDriver}, Owners{first: byDriver, second: byDriver}, 0},
		},
		"we give way at once": {
			{0, us, us, 0},
			{time.Second, Owners{first: byPlugin}, Owners{first: byPlugin}, 0},
		},
		"what was ours is not kept": {{0, us, us, 0}, {time.Second, Owners{}, Owners{}, 0}},
	}
	for about, moments := range tests {
		t.Run(about, func(t *testing.T) {
			var s Succession
			for i, m := range moments {
				got, next := s.Update(m.seen, start.Add(m.after))
				if diff := cmp.Diff(m.want, got); diff != "" {
					t.Errorf("moment %d (-want +got):\n%s", i, diff)
				}
				if want := m.next; want == 0 != next.IsZero() || want != 0 && !next.Equal(start.Add(want)) {
					t.Errorf("moment %d: next = %s, want %s after the start", i, next, want)
				}
			}
		})
	}
}

func TestRecalledOwnerHasItsGrace(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	published := []v1alpha1.Device{{ID: first, Service: &byPlugin}, {ID: second, Service: &byUs}, {ID: third}}
	var s Succession
	s.Recall(published, start)
	got, _ := s.Update(Owners{third: byAMD}, start.Add(time.Minute))
	if diff := cmp.Diff(Owners{first: byPlugin, third: byAMD}, got); diff != "" {
		t.Errorf("owners a minute after the agent's start (-want +got):\n%s", diff)
	}
	got, _ = s.Update(Owners{third: byAMD}, start.Add(successionGrace))
	if diff := cmp.Diff(Owners{third: byAMD}, got); diff != "" {
		t.Errorf("owners after the grace (-want +got):\n%s", diff)
	}
}
