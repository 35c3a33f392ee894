package nodeagent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func unknown(reason, message string) func(*v1alpha1.Device) {
	return func(d *v1alpha1.Device) {
		d.Health = v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: reason, Message: message, Since: d.Health.Since}
	}
}

func TestMergeDevices(t *testing.T) {
	found, failed := backendIs("nvidia", v1alpha1.BackendFound), backendIs("nvidia", v1alpha1.BackendFailed)
	absent := backendIs("nvidia", v1alpha1.BackendAbsent)
	sick := func(d *v1alpha1.Device) { d.Health.State, d.Health.Reason = v1alpha1.Unhealthy, "Xid79" }
	lost := unknown("BackendFailed", "nvidia is broken: mend it")
	missed := unknown("NotSeen", messageNotSeen)
	missedMI300X := mi300x(0)
	missed(&missedMI300X)
	missedMI300X.Health.Since = &later
	mig := func(d *v1alpha1.Device) {
		d.ID += "-mig1"
		d.Partition = &v1alpha1.DevicePartition{Kind: "MIG", Parent: h100(0).ID, Index: 1}
	}
	tests := []struct {
		name               string
		previous, detected v1alpha1.AcceleratorInventoryStatus
		want               []v1alpha1.Device
	}{
		{
			"first detection",
			status(nil), status(backends(found), h100(0)),
			[]v1alpha1.Device{h100(0, since(later))},
		},
		{
			"unchanged health keeps its time",
			status(backends(found), h100(0, since(earlier))), status(backends(found), h100(0)),
			[]v1alpha1.Device{h100(0, since(earlier))},
		},
		{
			"changed health has a new time",
			status(backends(found), h100(0, since(earlier))), status(backends(found), h100(0, sick)),
			[]v1alpha1.Device{h100(0, sick, since(later))},
		},
		{
			"health without a state is Unknown",
			status(nil), status(backends(found), h100(0, func(d *v1alpha1.Device) { d.Health = v1alpha1.DeviceHealth{} })),
			[]v1alpha1.Device{h100(0, unknown("NotReported", ""), since(later))},
		},
		{
			"a device that the backend no longer lists is Unknown first",
			status(backends(found), h100(0, since(earlier)), h100(1, since(earlier))), status(backends(found), h100(1)),
			[]v1alpha1.Device{h100(0, missed, since(later)), h100(1, since(earlier))},
		},
		{
			"a device that is missed twice is gone",
			status(backends(found), h100(0, missed, since(earlier)), h100(1, since(earlier))), status(backends(found), h100(1)),
			[]v1alpha1.Device{h100(1, since(earlier))},
		},
		{
			"a device that comes back is as it was",
			status(backends(found), h100(0, missed, since(earlier))), status(backends(found), h100(0)),
			[]v1alpha1.Device{h100(0, since(later))},
		},
		{
			"all devices of a backend that looked are Unknown first",
			status(backends(found), h100(0, since(earlier))), status(backends(absent)),
			[]v1alpha1.Device{h100(0, missed, since(later))},
		},
		{
			"all devices of a backend that looked twice are gone",
			status(backends(absent), h100(0, missed, since(earlier))), status(backends(absent)),
			nil,
		},
		{
			"a detection that cannot look neither removes a missed device nor makes up for the one that missed it",
			status(backends(absent), h100(0, missed, since(earlier))), status(backends(failed)),
			[]v1alpha1.Device{h100(0, missed, since(earlier))},
		},
		{
			"a device of a backend that failed before is missed once only",
			status(backends(failed), h100(0, lost, since(earlier))), status(backends(absent)),
			[]v1alpha1.Device{h100(0, missed, since(earlier))},
		},
		{
			"a device that was partitioned is gone at once",
			status(backends(found), h100(0, since(earlier))), status(backends(found), h100(0, mig)),
			[]v1alpha1.Device{h100(0, mig, since(later))},
		},
		{
			"partitions that were joined are gone at once",
			status(backends(found), h100(0, mig, since(earlier))), status(backends(found), h100(0)),
			[]v1alpha1.Device{h100(0, since(later))},
		},
		{
			"a device of no backend is gone at once",
			status(nil, h100(0, since(earlier), func(d *v1alpha1.Device) { d.Backend = "" })), status(backends(found)),
			nil,
		},
		{
			"devices of a failed backend stay and are Unknown",
			status(backends(found), h100(0, since(earlier)), h100(1, since(earlier))), status(backends(failed)),
			[]v1alpha1.Device{h100(0, lost, since(later)), h100(1, lost, since(later))},
		},
		{
			"a second failure keeps the time of the first",
			status(backends(failed), h100(0, lost, since(earlier))), status(backends(failed)),
			[]v1alpha1.Device{h100(0, lost, since(earlier))},
		},
		{
			"recovery has a new time",
			status(backends(failed), h100(0, lost, since(earlier))), status(backends(found), h100(0)),
			[]v1alpha1.Device{h100(0, since(later))},
		},
		{
			"one failed backend does not touch another's devices",
			status(backends(backendIs("amd", v1alpha1.BackendFound), found), mi300x(0), h100(0, since(earlier))),
			status(backends(backendIs("amd", v1alpha1.BackendAbsent), failed)),
			[]v1alpha1.Device{missedMI300X, h100(0, lost, since(later))},
		},
		{
			"devices of a backend that was not run stay",
			status(backends(found), h100(0, since(earlier))), status(nil),
			[]v1alpha1.Device{h100(0, unknown("BackendMissing", "this agent has no detection backend nvidia"), since(later))},
		},
		{
			"a device that the failed backend still lists is as listed",
			status(backends(found), h100(0, since(earlier))), status(backends(failed), h100(0, sick)),
			[]v1alpha1.Device{h100(0, sick, since(later))},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			previous, detected := tc.previous.DeepCopy(), tc.detected.DeepCopy()
			got := mergedAt(tc.previous, tc.detected, later)
			if diff := cmp.Diff(tc.want, got.Devices); diff != "" {
				t.Errorf("devices differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(*previous, tc.previous) + cmp.Diff(*detected, tc.detected); diff != "" {
				t.Errorf("Merge changed its arguments:\n%s", diff)
			}
		})
	}
}

// A detection that is merged again, since its publication failed or the spec changed, is no second evidence.
func TestMergeAgainRemovesNothing(t *testing.T) {
	found := backends(backendIs("nvidia", v1alpha1.BackendFound))
	detected := detection{status: status(found, h100(1)), scan: 1}
	missed := next(known{status: status(found, h100(0), h100(1))}, detected, view{}, earlier).known
	for range 3 {
		missed = next(missed, detected, view{}, later).known
		if devices := missed.status.Devices; len(devices) != 2 || devices[0].Health.Reason != "NotSeen" {
			t.Fatalf("devices = %+v, want the missed one, too", devices)
		}
	}
	restarted := known{status: missed.status}
	if gone := next(restarted, detected, view{}, later).status; len(gone.Devices) != 1 {
		t.Errorf("devices = %+v after a restart, want one: what was published is remembered", gone.Devices)
	}
	detected.scan++
	if gone := next(missed, detected, view{}, later).status; len(gone.Devices) != 1 {
		t.Errorf("devices = %+v after another scan, want one", gone.Devices)
	}
}

func TestMergeSettles(t *testing.T) {
	detected := status(backends(backendIs("nvidia", v1alpha1.BackendFound), backendIs("amd", v1alpha1.BackendFailed)), h100(0))
	previous := status(backends(backendIs("amd", v1alpha1.BackendFound)), mi300x(0))
	first := mergedAt(previous, detected, earlier)
	if diff := cmp.Diff(first, mergedAt(first, detected, later)); diff != "" {
		t.Errorf("the same detection again changes the inventory (-first +second):\n%s", diff)
	}
}

func TestMergeKeepsAllocations(t *testing.T) {
	previous := status(nil)
	previous.Allocations = []v1alpha1.Allocation{{Device: h100(0).ID, Namespace: "default", Pod: "p"}}
	if diff := cmp.Diff(previous.Allocations, mergedAt(previous, status(nil), later).Allocations); diff != "" {
		t.Errorf("allocations differ (-want +got):\n%s", diff)
	}
}

func TestMergeHost(t *testing.T) {
	before := status(nil)
	before.Host = v1alpha1.Host{CPU: v1alpha1.CPU{Model: "Xeon", Cores: 64}, NUMANodes: []v1alpha1.NUMANode{{ID: 0}}}
	before.NICs = []v1alpha1.NIC{{Name: "eth0", Kind: "Ethernet"}}
	before.Storage = []v1alpha1.StorageDevice{{Name: "nvme0n1", Kind: "NVMe"}}
	after := status(nil)
	after.Host = v1alpha1.Host{CPU: v1alpha1.CPU{Model: "EPYC", Cores: 96}}
	unlisted := status(backends(backendIs("network", v1alpha1.BackendFailed), backendIs("storage", v1alpha1.BackendFailed)))
	unlisted.Host = after.Host
	kept := *unlisted.DeepCopy()
	kept.NICs, kept.Storage = before.NICs, before.Storage
	tests := []struct {
		name     string
		detected v1alpha1.AcceleratorInventoryStatus
		want     v1alpha1.AcceleratorInventoryStatus
	}{
		{"a host that could not be read stays", status(nil), before},
		{"a host that was read is as read", after, after},
		{"ports and disks that nobody could look at stay", unlisted, kept},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, mergedAt(before, tc.detected, later)); diff != "" {
				t.Errorf("status differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergeWithoutATimeWritesNone(t *testing.T) {
	got := mergedAt(status(nil), status(backends(backendIs("nvidia", v1alpha1.BackendFound)), h100(0)), metav1.Time{})
	if got.Devices[0].Health.Since != nil {
		t.Errorf("health has a time: %v", got.Devices[0].Health.Since)
	}
}

func mergedAt(previous, detected v1alpha1.AcceleratorInventoryStatus, now metav1.Time) v1alpha1.AcceleratorInventoryStatus {
	return merge(previous, detected, mergeOptions{now: now})
}
