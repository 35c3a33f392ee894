package detect_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// scripted is a backend that does as it is told.
type scripted struct {
	name   string
	detect func(context.Context) (backend.Found, error)
}

func (s scripted) Name() string { return s.name }

func (s scripted) Detect(ctx context.Context, _ *host.Host) (backend.Found, error) {
	return s.detect(ctx)
}

func finds(name string, devices ...v1alpha1.Device) backend.Backend {
	return scripted{name, func(context.Context) (backend.Found, error) { return backend.Found{Devices: devices}, nil }}
}

func gpu(id v1alpha1.DeviceID, address string) v1alpha1.Device {
	return v1alpha1.Device{ID: id, Vendor: "v", Family: v1alpha1.FamilyGPU, PCI: &v1alpha1.PCIDevice{Address: address}}
}

func run(t *testing.T, backends ...backend.Backend) v1alpha1.AcceleratorInventoryStatus {
	t.Helper()
	return detect.Detect(t.Context(), host.NewRecording().Host(), detect.Options{Backends: backends}).Status
}

func TestDetectIsolatesBackends(t *testing.T) {
	status := run(t,
		scripted{"panics", func(context.Context) (backend.Found, error) { panic("boom") }},
		scripted{"fails", func(context.Context) (backend.Found, error) {
			return backend.Found{Devices: []v1alpha1.Device{gpu("v-x", "0000:01:00.0")}}, errors.New("cannot look")
		}},
		scripted{"degraded", func(context.Context) (backend.Found, error) { return backend.Found{Degraded: "half of it"}, nil }},
		finds("none"), finds("works", gpu("v-a", "0000:02:00.0")))
	got := map[string]string{}
	for _, b := range status.Backends {
		got[b.Name] = string(b.State) + " " + b.Message
	}
	for name, want := range map[string]string{
		"fails": "Failed cannot look", "degraded": "Degraded half of it", "none": "Absent ", "works": "Found ",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if !strings.HasPrefix(got["panics"], "Failed defect in the backend: panic: boom at join_test.go:") {
		t.Errorf("panics: %q", got["panics"])
	}
	if len(status.Devices) != 1 || status.Devices[0].Backend != "works" {
		t.Errorf("devices: %+v", status.Devices)
	}
}

func TestDetectAbandonsWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hangs := scripted{"hangs", func(context.Context) (backend.Found, error) { <-release; return backend.Found{}, nil }}
		late := scripted{"late", func(ctx context.Context) (backend.Found, error) {
			<-ctx.Done() // as a backend whose tool was killed: it still tells what it knows
			return backend.Found{Devices: []v1alpha1.Device{gpu("v-a", "0000:01:00.0")}, Degraded: "tool hung"}, nil
		}}
		status := detect.Detect(t.Context(), host.NewRecording().Host(), detect.Options{
			Backends: []backend.Backend{hangs, late}, Deadline: time.Minute,
		}).Status
		close(release)
		if b := status.Backends[0]; b.State != v1alpha1.BackendFailed || !strings.Contains(b.Message, "within 1m0s") {
			t.Errorf("%+v", b)
		}
		if b := status.Backends[1]; b.State != v1alpha1.BackendDegraded || b.Devices != 1 {
			t.Errorf("%+v", b)
		}
	})
}

func TestDetectJoinsInOrderAndOnce(t *testing.T) {
	partition := func(id v1alpha1.DeviceID) v1alpha1.Device {
		d := gpu(id, "0000:05:00.0")
		d.Partition = &v1alpha1.DevicePartition{Kind: "MIG", Parent: "v-p"}
		return d
	}
	one := finds("one", gpu("v-c", "0000:03:00.0"), gpu("v-a", "0000:01:00.0"), gpu("v-a", "0000:09:00.0"))
	two := finds("two", gpu("w-c", "0000:03:00.0"), gpu("v-b", "0000:02:00.0"))
	three := finds("three", partition("v-p-2"), partition("v-p-1"))
	forward, backward := run(t, one, two, three), run(t, three, two, one)
	if diff := cmp.Diff(forward, backward); diff != "" {
		t.Errorf("depends on the order of backends:\n%s", diff)
	}
	var ids []v1alpha1.DeviceID
	for _, d := range forward.Devices {
		ids = append(ids, d.ID)
	}
	if diff := cmp.Diff([]v1alpha1.DeviceID{"v-a", "v-b", "v-c", "v-p-1", "v-p-2"}, ids); diff != "" {
		t.Error(diff)
	}
	for _, b := range forward.Backends {
		if b.Name == "two" && (b.Devices != 1 || b.Message != "w-c is listed by backend one already and left out here") {
			t.Errorf("%+v", b)
		}
	}
}

// What a broken driver prints must not make the API server refuse the whole inventory.
func TestDetectKeepsToTheBoundsOfTheAPI(t *testing.T) {
	minus := int32(-1)
	long := strings.Repeat("ü", 3000)
	d := gpu("v-a", "0000:01:00.0")
	d.Product, d.UUID, d.Health.Message, d.Paths = long, long, long, []string{long}
	d.Health = v1alpha1.DeviceHealth{State: v1alpha1.Degraded, Reason: "not a word", Message: "\xff" + long}
	d.NUMANode, d.Memory = &minus, &v1alpha1.DeviceMemory{TotalMiB: 16<<20 + 1}
	used := gpu("v-b", "0000:02:00.0")
	used.Memory = &v1alpha1.DeviceMemory{TotalMiB: 10, UsedByOthersMiB: 20}
	status := run(t, finds("bounds", d, used, gpu("V-Bad", "0000:03:00.0"), gpu("v-d", "no address"), v1alpha1.Device{ID: "v-e"}))
	if len(status.Devices) != 2 {
		t.Fatalf("%+v", status.Devices)
	}
	got := status.Devices[0]
	if len(got.Product) != 256 || len(got.UUID) != 128 || len(got.Health.Message) > 1024 || got.Health.Reason != "" || len(got.Paths[0]) != 256 || got.NUMANode != nil || got.Memory != nil {
		t.Errorf("%+v", got)
	}
	if got := status.Devices[1]; got.Memory.UsedByOthersMiB != 10 || got.Health.State != v1alpha1.Unknown || got.Health.Reason != "NotMonitored" {
		t.Errorf("%+v", got)
	}
	for _, word := range []string{`"V-Bad"`, "v-d", "v-e"} {
		if !strings.Contains(status.Backends[0].Message, word) {
			t.Errorf("%q says nothing of %s", status.Backends[0].Message, word)
		}
	}
}

func TestDetectDropsLinksOfUnknownDevices(t *testing.T) {
	status := run(t, scripted{"links", func(context.Context) (backend.Found, error) {
		return backend.Found{
			Devices: []v1alpha1.Device{gpu("v-a", "0000:01:00.0"), gpu("v-b", "0000:02:00.0")},
			Links: v1alpha1.Links{
				Domains: []v1alpha1.LinkDomain{{Name: "z", Kind: "NVLink", Topology: v1alpha1.TopologySwitch, Members: []v1alpha1.DeviceID{"v-b", "v-x", "v-a"}}, {Name: "a", Kind: "NVLink", Topology: v1alpha1.TopologySwitch, Members: []v1alpha1.DeviceID{"v-x"}}},
				Pairs:   []v1alpha1.LinkPair{{A: "v-b", B: "v-a", Kind: "NVLink", Count: 1}, {A: "v-a", B: "v-x", Kind: "NVLink", Count: 1}, {A: "v-a", B: "v-a", Kind: "NVLink", Count: 1}, {A: "v-a", B: "v-b", Kind: "NVLink"}},
			},
		}, nil
	}})
	want := v1alpha1.Links{
		Domains: []v1alpha1.LinkDomain{{Name: "z", Kind: "NVLink", Topology: v1alpha1.TopologySwitch, Members: []v1alpha1.DeviceID{"v-a", "v-b"}}},
		Pairs:   []v1alpha1.LinkPair{{A: "v-a", B: "v-b", Kind: "NVLink", Count: 1}},
	}
	if diff := cmp.Diff(want, status.Links); diff != "" {
		t.Error(diff)
	}
}

func TestDetectRecordedHosts(t *testing.T) {
	tests := map[string]struct {
		product   string
		count     int
		numa      []int32
		memoryMiB int64
		domain    int
		threads   int32
	}{
		"nvidia-h100-8.tar.gz": {"NVIDIA H100 80GB HBM3", 8, []int32{0, 0, 0, 0, 1, 1, 1, 1}, 81559, 8, 224},
		"nvidia-l40s-4.tar.gz": {"NVIDIA L40S", 4, []int32{0, 0, 1, 1}, 46068, 0, 128},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := compose.Recorded(t, name)
			status := detect.Detect(t.Context(), h, detect.Options{}).Status
			if len(status.Devices) != test.count {
				t.Fatalf("%d devices", len(status.Devices))
			}
			roots := map[string]bool{}
			for i, d := range status.Devices {
				if d.Product != test.product || d.Memory.TotalMiB != test.memoryMiB || d.NUMANode == nil || *d.NUMANode != test.numa[i] || d.Health.State != v1alpha1.Healthy {
					t.Errorf("%+v", d)
				}
				roots[d.PCI.Root] = true
			}
			if len(roots) != test.count {
				t.Errorf("%d host bridges", len(roots))
			}
			if members := memberCount(status.Links); members != test.domain {
				t.Errorf("%d devices in link domains, want %d", members, test.domain)
			}
			if status.Host.CPU.Threads != test.threads || len(status.Host.NUMANodes) != 2 || status.Host.Container != "" {
				t.Errorf("host: %+v", status.Host)
			}
			for _, b := range status.Backends {
				if b.State == v1alpha1.BackendDegraded || b.State == v1alpha1.BackendFailed {
					t.Errorf("%+v", b)
				}
			}
			if diff := cmp.Diff(status, detect.Detect(t.Context(), h, detect.Options{}).Status); diff != "" {
				t.Errorf("differs when detected again:\n%s", diff)
			}
		})
	}
}

func memberCount(links v1alpha1.Links) int {
	count := 0
	for _, domain := range links.Domains {
		count += len(domain.Members)
	}
	return count
}

func BenchmarkDetect8GPUs(b *testing.B) {
	h := compose.Recorded(b, "nvidia-h100-8.tar.gz")
	b.ReportAllocs()
	for b.Loop() {
		if status := detect.Detect(b.Context(), h, detect.Options{}).Status; len(status.Devices) != 8 {
			b.Fatalf("%d devices", len(status.Devices))
		}
	}
}
