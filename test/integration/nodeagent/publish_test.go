package nodeagent_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestPublishesInventoryAndLabels(t *testing.T) {
	s := newSite(t, "publishes")
	s.nvidia.set(gpu(0), gpu(1))
	s.once()

	inventory := s.inventory()
	wantOwners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: s.name, UID: s.node.UID}}
	if diff := cmp.Diff(wantOwners, inventory.OwnerReferences); diff != "" {
		t.Errorf("owners differ (-want +got):\n%s", diff)
	}
	wantSummary := v1alpha1.InventorySummary{
		Devices: 2, Healthy: 2, Products: "2x NVIDIA H100 80GB HBM3", Drivers: "nvidia 570.86.15",
		Memory: "159.3 GiB", MemoryMiB: 163118, Free: "159.3 GiB", FreeMiB: 163118,
	}
	if diff := cmp.Diff(wantSummary, inventory.Status.Summary); diff != "" {
		t.Errorf("summary differs (-want +got):\n%s", diff)
	}
	wantDevices := []v1alpha1.Device{gpu(0), gpu(1)}
	ignored := cmpopts.IgnoreFields(v1alpha1.Device{}, "Backend", "Health.Since")
	if diff := cmp.Diff(wantDevices, inventory.Status.Devices, ignored); diff != "" {
		t.Errorf("devices differ (-want +got):\n%s", diff)
	}
	for _, condition := range []string{v1alpha1.ConditionDetected, v1alpha1.ConditionLabelled} {
		if !meta.IsStatusConditionTrue(inventory.Status.Conditions, condition) {
			t.Errorf("condition %s is not True: %+v", condition, inventory.Status.Conditions)
		}
	}
	wantLabels := map[string]string{
		"accelerator": "true", "vendors": "nvidia",
		"nvidia.present": "true", "nvidia.count": "2", "nvidia.healthy": "2", "nvidia.product": "NVIDIA-H100-80GB-HBM3",
		"nvidia.memory-mib": "81559", "nvidia.driver": "570.86.15", "nvidia.architecture": "Hopper",
		"nvidia.compute-capability": "9.0", "nvidia.link": "PCIe",
	}
	if diff := cmp.Diff(wantLabels, s.labels()); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
}

func TestNoDevicesIsPublishedToo(t *testing.T) {
	s := newSite(t, "no-devices")
	s.once()
	if status := s.inventory().Status; len(status.Backends) != 2 || status.Summary.Devices != 0 {
		t.Errorf("status = %+v, want two backends and no device", status)
	}
	if diff := cmp.Diff(map[string]string{}, s.labels()); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("AcceleratorInventory"))
	object.SetName(s.name)
	get(s, object)
	if devices, found, err := unstructured.NestedInt64(object.Object, "status", "summary", "devices"); !found || devices != 0 || err != nil {
		t.Errorf("status.summary.devices = %d, found %t, error %v; want a 0 that kubectl can print", devices, found, err)
	}
}

func TestRescanWithoutChangeWritesNothing(t *testing.T) {
	s := newSite(t, "no-change")
	s.nvidia.set(gpu(0))
	s.amd.breakDown()
	s.once()
	node, inventory, writes := get(s, s.nodeKey()).ResourceVersion, s.inventory().ResourceVersion, s.writes.n.Load()
	for range 3 {
		s.once()
	}
	restarted := s.newAgent(agentConfig(t, s.node))
	if err := restarted.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.writes.n.Load(); got != writes {
		t.Errorf("%d more write requests, want none", got-writes)
	}
	if got := get(s, s.nodeKey()).ResourceVersion; got != node {
		t.Errorf("the Node went from version %s to %s", node, got)
	}
	if got := s.inventory().ResourceVersion; got != inventory {
		t.Errorf("the inventory went from version %s to %s", inventory, got)
	}
}

func TestDeviceSeenToBeGone(t *testing.T) {
	s := newSite(t, "gone")
	s.nvidia.set(gpu(0))
	s.amd.set(amdGPU(0))
	s.once()
	s.nvidia.set()
	s.once()
	if got := s.inventory().Status.Device(gpu(0).ID); got == nil || got.Health.State != v1alpha1.Unknown || got.Health.Reason != "NotSeen" {
		t.Errorf("device = %+v after one detection without it, want it Unknown", got)
	}
	if labels := s.labels(); labels["nvidia.count"] != "1" || labels["nvidia.healthy"] != "0" {
		t.Errorf("labels = %v after one detection without the device, want it counted and not healthy", labels)
	}
	s.agent = s.newAgent(agentConfig(t, s.node)) // a restart does not forget
	s.once()
	if got := s.inventory().Status.Devices; len(got) != 1 || got[0].ID != amdGPU(0).ID {
		t.Errorf("devices = %+v, want the AMD device alone", got)
	}
	for key := range s.labels() {
		if key == "nvidia.present" || key == "nvidia.count" {
			t.Errorf("label %s is left", key)
		}
	}
	if got := s.labels()["vendors"]; got != "amd" {
		t.Errorf("vendors = %q, want amd", got)
	}
	s.amd.set()
	s.once()
	s.once()
	if diff := cmp.Diff(map[string]string{}, s.labels()); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
	if got := get(s, s.nodeKey()).Labels["kubernetes.io/hostname"]; got != s.name {
		t.Errorf("a stranger's label is %q, want %q", got, s.name)
	}
}

// A stranger's memory that wavers at every detection costs no write at every detection.
func TestWaveringMemoryIsNotWritten(t *testing.T) {
	s := newSite(t, "wavering")
	for i := range 100 {
		s.nvidia.set(gpu(0, func(d *v1alpha1.Device) { d.Memory.UsedByOthersMiB = 4077 * int64(3+i%2) }))
		s.once()
		if i == 1 {
			s.writes.n.Store(0)
		}
	}
	if got := s.writes.n.Load(); got > 1 {
		t.Errorf("%d writes in 98 detections, want at most one", got)
	}
}

func TestFailedBackendKeepsItsDevices(t *testing.T) {
	s := newSiteFor(t, "failed")
	s.clock = testingclock.NewFakeClock(time.Now())
	s.agent = s.newAgent(agentConfig(t, s.node))
	s.nvidia.set(gpu(0))
	s.once()
	before := s.labels()
	s.nvidia.breakDown()
	s.once()

	status := s.inventory().Status
	if len(status.Devices) != 1 {
		t.Fatalf("devices = %+v, want the one that was there", status.Devices)
	}
	want := v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: "BackendFailed", Message: "the driver hangs: reset the device"}
	if diff := cmp.Diff(want, status.Devices[0].Health, cmpopts.IgnoreFields(v1alpha1.DeviceHealth{}, "Since")); diff != "" {
		t.Errorf("health differs (-want +got):\n%s", diff)
	}
	if got := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDetected); got.Status != metav1.ConditionFalse {
		t.Errorf("Detected = %+v, want False", got)
	}
	before["nvidia.healthy"] = "0"
	if diff := cmp.Diff(before, s.labels()); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
	if status.Summary.FreeMiB != 0 {
		t.Errorf("%d MiB are free on a device that nobody can see", status.Summary.FreeMiB)
	}

	s.nvidia.set(gpu(0))
	s.clock.Step(time.Minute)
	s.once()
	if got := s.inventory().Status.Devices[0].Health.State; got != v1alpha1.Healthy {
		t.Errorf("health after recovery = %s, want Healthy", got)
	}
}

func TestForgottenInventoryDoesNotCostLabels(t *testing.T) {
	s := newSite(t, "forgotten")
	s.nvidia.set(gpu(0))
	s.once()
	before := s.labels()
	if err := s.admin.Delete(t.Context(), s.inventoryKey()); err != nil {
		t.Fatal(err)
	}
	s.nvidia.breakDown()
	restarted := s.newAgent(agentConfig(t, s.node))
	for range 2 {
		if err := restarted.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, s.labels()); diff != "" {
		t.Errorf("labels differ (-want +got):\n%s", diff)
	}
	s.nvidia.set()
	if err := restarted.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{}, s.labels()); diff != "" {
		t.Errorf("labels of a device seen to be gone differ (-want +got):\n%s", diff)
	}
}

func TestStrangersLabelIsReportedNotTaken(t *testing.T) {
	s := newSite(t, "contested")
	const key = v1alpha1.Prefix + "nvidia.product"
	setLabel := func(value any) {
		t.Helper()
		patch := map[string]any{"metadata": map[string]any{"labels": map[string]any{key: value}}}
		if err := s.admin.Patch(t.Context(), s.nodeKey(), mergePatch(t, patch), client.FieldOwner("a-stranger")); err != nil {
			t.Fatal(err)
		}
	}
	setLabel("mine")
	s.nvidia.set(gpu(0))
	s.once()
	labels := s.labels()
	if labels["nvidia.product"] != "mine" || labels["nvidia.count"] != "1" {
		t.Errorf("labels = %v, want the stranger's product and our count", labels)
	}
	want := metav1.Condition{
		Type: "Labelled", Status: "False", Reason: "Conflict", ObservedGeneration: 1,
		Message: "labels with another value are held by other field managers; remove them there and they are written again: " +
			`rankwright.dev/nvidia.product by "a-stranger"`,
	}
	got := meta.FindStatusCondition(s.inventory().Status.Conditions, "Labelled")
	if diff := cmp.Diff(&want, got, cmpopts.IgnoreFields(want, "LastTransitionTime")); diff != "" {
		t.Errorf("condition differs (-want +got):\n%s", diff)
	}
	writes := s.writes.n.Load()
	s.once()
	if s.writes.n.Load() != writes {
		t.Errorf("a standing conflict is written again")
	}
	setLabel(nil)
	s.once()
	if got := s.labels()["nvidia.product"]; got != "NVIDIA-H100-80GB-HBM3" {
		t.Errorf("product = %q after the stranger let go", got)
	}
	if !meta.IsStatusConditionTrue(s.inventory().Status.Conditions, "Labelled") {
		t.Error("Labelled is not True after the stranger let go")
	}
}

func TestCordonOfAnotherManagerStays(t *testing.T) {
	s := newSite(t, "cordoned")
	s.nvidia.set(gpu(0), gpu(1))
	s.once()
	s.cordon(gpu(0).ID)
	s.once()
	inventory := s.inventory()
	if diff := cmp.Diff([]v1alpha1.DeviceID{gpu(0).ID}, inventory.Spec.CordonedDevices); diff != "" {
		t.Errorf("spec differs (-want +got):\n%s", diff)
	}
	if inventory.Status.Summary.FreeMiB != 81559 || inventory.Status.ObservedGeneration != 2 {
		t.Errorf("free = %d MiB at generation %d, want 81559 at 2", inventory.Status.Summary.FreeMiB, inventory.Status.ObservedGeneration)
	}
}

func (s *site) cordon(ids ...v1alpha1.DeviceID) {
	s.t.Helper()
	patch := map[string]any{"spec": map[string]any{"cordonedDevices": ids}}
	if err := s.admin.Patch(s.t.Context(), s.inventoryKey(), mergePatch(s.t, patch), client.FieldOwner("an-administrator")); err != nil {
		s.t.Fatal(err)
	}
}

func TestStatusFieldOfAStrangerIsLeftToIt(t *testing.T) {
	s := newSite(t, "edited")
	s.nvidia.set(gpu(0))
	s.once()
	inventory := s.inventory()
	inventory.Status.Devices[0].Product = "mine"
	if err := s.admin.Status().Update(t.Context(), inventory, client.FieldOwner("a-stranger")); err != nil {
		t.Fatal(err)
	}
	s.nvidia.set(gpu(0), gpu(1))
	s.once()
	devices := s.inventory().Status.Devices
	if len(devices) != 2 || devices[0].Product != "mine" || devices[1].Product != gpu(1).Product {
		t.Errorf("devices = %+v, want the stranger's product on the first and ours on the second", devices)
	}
}

// Where a node is, its labels say: the agent asks no cloud.
func TestPublishesThePlaceOfTheNode(t *testing.T) {
	s := newSite(t, "place")
	node := get(s, s.nodeKey())
	node.Labels["topology.kubernetes.io/region"], node.Labels["topology.kubernetes.io/zone"] = "europe-west4", "europe-west4-b"
	if err := s.admin.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	s.once()
	if host := s.inventory().Status.Host; host.Region != "europe-west4" || host.Zone != "europe-west4-b" {
		t.Errorf("host %+v", host)
	}
}
