package nodeagent

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/inventory"
)

func TestPublishedUse(t *testing.T) {
	tests := []struct {
		name                       string
		published, observed, total int64
		want                       int64
	}{
		{"nothing", 0, 0, 16384, 0},
		{"an idle driver", 0, 64, 16384, 64},
		{"a step on a small device", 0, 1024, 16384, 1024},
		{"a step of a large device", 0, 4077, 81559, 4077},
		{"up by a step", 9216, 10240, 16384, 10240},
		{"down by a step, which may be an instant", 10240, 9216, 16384, 10240},
		{"down by two", 10240, 8192, 16384, 8192},
		{"down to nothing from one step", 1024, 0, 16384, 0},
		{"down to nothing from the finest step", 64, 0, 16384, 64},
		{"what was published in other steps stays while it is just above", 9500, 9216, 16384, 9500},
		{"what was published in other steps and is less than in use", 9000, 9216, 16384, 9216},
		{"more than there was", 1024, 15360, 16384, 15360},
		{"all there is", 16384, 15360, 16384, 16384},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := publishedUse(tc.published, tc.observed, tc.total); got != tc.want {
				t.Errorf("publishedUse(%d, %d, %d) = %d, want %d", tc.published, tc.observed, tc.total, got, tc.want)
			}
		})
	}
}

func TestPublishedUseSettlesNearTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(0, 1<<20).Draw(t, "total")
		step := max(1024, total/20)
		used := rapid.Int64Range(0, total).Draw(t, "used")
		observed := backend.UsedInSteps(used, total)
		published := rapid.Int64Range(0, total).Draw(t, "published")
		got := publishedUse(published, observed, total)
		if got < used || got >= used+2*step {
			t.Fatalf("%d MiB are used, %d published, steps of %d", used, got, step)
		}
		if again := publishedUse(got, observed, total); again != got {
			t.Fatalf("the same use again is published as %d after %d", again, got)
		}
	})
}

func TestMemoryUsedByOthers(t *testing.T) {
	found := backends(backendIs("nvidia", v1alpha1.BackendFound))
	part := func(index int32) func(*v1alpha1.Device) {
		return func(d *v1alpha1.Device) {
			d.Partition = &v1alpha1.DevicePartition{Kind: "MIG", Parent: h100(0).ID, Index: index}
			d.ID += v1alpha1.DeviceID([]string{"-mig0", "-mig1"}[index])
		}
	}
	allocated := func(ids ...v1alpha1.DeviceID) []v1alpha1.Allocation {
		var rows []v1alpha1.Allocation
		for _, id := range ids {
			rows = append(rows, v1alpha1.Allocation{Device: id, Namespace: "n", Pod: "p"})
		}
		return rows
	}
	used := usedByOthers(20000)
	tests := []struct {
		name        string
		allocations []v1alpha1.Allocation
		devices     []v1alpha1.Device
		want        []int64
	}{
		{"nobody holds a device", nil, []v1alpha1.Device{h100(0, used), h100(1, used)}, []int64{20000, 20000}},
		{"a pod holds one", allocated(h100(0).ID), []v1alpha1.Device{h100(0, used), h100(1, used)}, []int64{0, 20000}},
		{"two pods share one", allocated(h100(0).ID, h100(0).ID), []v1alpha1.Device{h100(0, used)}, []int64{0}},
		{"a pod holds a partition", allocated(h100(0).ID + "-mig1"), []v1alpha1.Device{h100(0, part(0), used), h100(0, part(1), used)}, []int64{20000, 0}},
		{"a pod holds the whole device of partitions", allocated(h100(0).ID), []v1alpha1.Device{h100(0, part(0), used), h100(0, part(1), used)}, []int64{0, 0}},
		{"a pod holds what is no longer there", allocated("nvidia-gone"), []v1alpha1.Device{h100(0, used)}, []int64{20000}},
		{"memory is not known", nil, []v1alpha1.Device{h100(0, func(d *v1alpha1.Device) { d.Memory = nil })}, []int64{-1}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			previous := status(found)
			previous.Allocations = tc.allocations
			var got []int64
			for _, d := range mergedAt(previous, status(found, tc.devices...), later).Devices {
				if d.Memory == nil {
					got = append(got, -1)
				} else {
					got = append(got, d.Memory.UsedByOthersMiB)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("used by others (-want +got):\n%s", diff)
			}
		})
	}
}

// memoryRun publishes scans as the publisher does, without an API server, and counts the writes.
type memoryRun struct {
	known

	now    time.Time
	writes int
}

func (r *memoryRun) scan(devices ...v1alpha1.Device) {
	now := metav1.NewTime(r.now).Rfc3339Copy()
	seen := detection{status: status(backends(backendIs("nvidia", v1alpha1.BackendFound)), devices...), scan: r.known.scan + 1}
	following := next(r.known, seen, view{}, now).known
	following.status.Summary = inventory.Summarize(v1alpha1.AcceleratorInventorySpec{}, &following.status)
	if !equality.Semantic.DeepEqual(r.status, following.status) {
		r.writes++
	}
	r.known = following
}

// detectedUse is what a backend reports of memory in use: rounded up to steps.
func detectedUse(used int64) func(*v1alpha1.Device) {
	return usedByOthers(backend.UsedInSteps(used, 81559))
}

func TestJitterOfMemoryIsNotWritten(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // for a test
	run := &memoryRun{now: later.Time}
	for range 100 {
		// Around the border of a step, and by most of one.
		run.scan(h100(0, detectedUse(3*4077-10+random.Int64N(20))), h100(1, detectedUse(2*4077-2000+random.Int64N(4000))))
		run.now = run.now.Add(5 * time.Second)
	}
	if run.writes < 1 || run.writes > 3 {
		t.Errorf("%d writes in 100 scans, want the first and one that settles each device", run.writes)
	}
}

func TestMemoryIsWrittenOnceAMinuteAtMost(t *testing.T) {
	run := &memoryRun{now: later.Time}
	run.scan(h100(0))
	for i := range 100 { // 500 seconds
		run.now = run.now.Add(5 * time.Second)
		run.scan(h100(0, detectedUse(int64(i%2)*40_000)))
	}
	if run.writes < 5 || run.writes > 1+9 {
		t.Errorf("%d writes in 500 s, want about one a minute", run.writes)
	}
	run.now = run.now.Add(time.Minute)
	run.scan(h100(0, detectedUse(80_000)))
	if got := run.status.Devices[0].Memory.UsedByOthersMiB; got != 20*4077 {
		t.Errorf("%d MiB after a minute, want what is used", got)
	}
	run.now = run.now.Add(time.Second)
	run.scan(h100(0), h100(1, detectedUse(40_000)))
	if got := run.status.Devices; got[0].Memory.UsedByOthersMiB != 20*4077 || got[1].Memory.UsedByOthersMiB != 10*4077 {
		t.Errorf("%+v, want the old use of the first, and that of a new device at once", got)
	}
	run.status.Allocations = []v1alpha1.Allocation{{Device: h100(0).ID, Namespace: "n", Pod: "p"}}
	run.scan(h100(0, detectedUse(40_000)), h100(1, detectedUse(40_000)))
	if got := run.status.Devices[0].Memory.UsedByOthersMiB; got != 0 {
		t.Errorf("%d MiB are used by others on a device that a pod was given a second ago, want 0", got)
	}
}

// What a pod used until it ended is no stranger's: only a detection after its end can tell.
func TestMemoryOfAPodThatEndedIsNoStrangers(t *testing.T) {
	before := status(backends(backendIs("nvidia", v1alpha1.BackendFound)), h100(0))
	before.Allocations = []v1alpha1.Allocation{{Device: h100(0).ID, Namespace: "n", Pod: "p"}}
	detected := status(backends(backendIs("nvidia", v1alpha1.BackendFound)), h100(0, detectedUse(40_000)))
	for again, want := range map[bool]int64{true: 0, false: 10 * 4077} {
		options := mergeOptions{now: later, again: again, allocations: &[]v1alpha1.Allocation{}}
		got := merge(before, detected, options)
		if use := got.Devices[0].Memory.UsedByOthersMiB; use != want || len(got.Allocations) != 0 {
			t.Errorf("again %t: %d MiB, allocations %v; want %d and none", again, use, got.Allocations, want)
		}
	}
}

// Free memory stays overstated no longer than until it may be written: a rise that was kept back is due then.
func TestMemoryThatWasKeptBackIsDue(t *testing.T) {
	found := backends(backendIs("nvidia", v1alpha1.BackendFound))
	written := later.Time
	held := []v1alpha1.Allocation{{Device: h100(0).ID, Namespace: "n", Pod: "p"}}
	tests := []struct {
		name        string
		after       time.Duration
		before, now int64
		allocations []v1alpha1.Allocation
		want        time.Time
	}{
		{"more in use", 20 * time.Second, 4077, 40_770, nil, written.Add(time.Minute)},
		{"less in use", 20 * time.Second, 40_770, 4077, nil, time.Time{}},
		{"more in use after the minute", time.Minute, 4077, 40_770, nil, time.Time{}},
		{"more in use by the pod that holds it", 20 * time.Second, 4077, 40_770, held, time.Time{}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			now := metav1.NewTime(written.Add(tc.after))
			previous := status(found, h100(0, usedByOthers(tc.before)))
			previous.Allocations = tc.allocations
			detected := status(found, h100(0, usedByOthers(tc.now)))
			following := next(known{status: previous, memoryAt: written}, detection{status: detected, scan: 1}, view{}, now)
			if got := following.due; !got.Equal(tc.want) {
				t.Errorf("due %v, want %v", got, tc.want)
			}
		})
	}
}
