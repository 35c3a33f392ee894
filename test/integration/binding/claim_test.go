package binding

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/test/operation"
)

// driver is a DRA driver of another vendor.
const driver = "gpu.example.com"

// uuidOf is the attribute by which a claim selects a device of a node.
func uuidOf(node, device string) string { return fmt.Sprintf("GPU-%s-%s", node, device) }

// addClaimedNode makes a node whose devices a DRA driver serves. Its ResourceSlice has them in the opposite order of the
// inventory, so that a scheduler which takes what comes first takes others than the plan. The last has no attribute.
func (w *world) addClaimedNode(name string, devices int) {
	w.Helper()
	w.addNode(name, devices)
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + driver}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &name, Pool: resourcev1.ResourcePool{Name: name, ResourceSliceCount: 1},
		Devices: []resourcev1.Device{{Name: "bare"}},
	}}
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Change(inventory, func() {
		for i := devices - 1; i >= 0; i-- {
			uuid := uuidOf(name, string(operation.DeviceID(i)))
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
				Name: fmt.Sprintf("gpu-%d", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"uuid": {StringValue: &uuid}},
			})
			d := &inventory.Status.Devices[i]
			d.Service = &v1alpha1.DeviceService{Server: v1alpha1.ServedByDRA, Resource: driver}
			d.ClaimAttribute = &v1alpha1.ClaimAttribute{Name: driver + "/uuid", String: &uuid}
		}
	})
	w.Must(w.Create(w.Context(), slice))
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.DRADeviceClass}}
	w.Must(client.IgnoreAlreadyExists(w.Create(w.Context(), class)))
	w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), slice))) })
}

// claimOf is the claim of the only pod of a copy.
func (w *world) claimOf(mesh *v1alpha1.DeviceMesh, replica int) string {
	w.Helper()
	places, err := launch.Pods(&mesh.Spec, 0, "")
	w.Must(err)
	return binding.ClaimName(mesh.Spec.Placement, &places[replica])
}

// allocations writes which devices the scheduler gave to the claim of each pod, by the pod's index.
func (w *world) allocations(pods map[string]*corev1.Pod) map[string]string {
	w.Helper()
	given := map[string]string{}
	for index, pod := range pods {
		if len(pod.Spec.ResourceClaims) != 1 || pod.Spec.ResourceClaims[0].ResourceClaimName == nil {
			w.Fatalf("claims of pod %s: %v", pod.Name, pod.Spec.ResourceClaims)
		}
		claim := &resourcev1.ResourceClaim{}
		w.Must(w.Get(w.Context(), client.ObjectKey{Namespace: w.Home, Name: *pod.Spec.ResourceClaims[0].ResourceClaimName}, claim))
		var results []string
		if claim.Status.Allocation != nil {
			for _, r := range claim.Status.Allocation.Devices.Results {
				results = append(results, r.Request+": "+r.Pool+"/"+r.Device)
			}
		}
		given[index] = claim.Name + " " + strings.Join(results, ", ")
	}
	return given
}

func (w *world) awaitCondition(of *v1alpha1.DeviceMesh, status metav1.ConditionStatus, reason string) string {
	w.Helper()
	var condition *metav1.Condition
	w.Eventually(fmt.Sprintf("condition %s is %s: %s", v1alpha1.ConditionClaimed, status, reason), func(ctx context.Context) bool {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(of), of))
		condition = meta.FindStatusCondition(of.Status.Conditions, v1alpha1.ConditionClaimed)
		return condition != nil && condition.Status == status && condition.Reason == reason
	})
	return condition.Message
}

func TestPodsGetThePlannedDevicesByClaims(t *testing.T) {
	w := newWorld(t, "claimed")
	w.operate(nil)
	w.addClaimedNode("node-1", 4)
	w.addClaimedNode("node-2", 2)
	placement := w.placement("llm", 3, v1alpha1.EnforcementClaim)
	w.Must(w.Create(t.Context(), placement))
	mesh := w.awaitPlan("llm-1")
	w.awaitCondition(mesh, metav1.ConditionTrue, "ClaimsMade")
	w.runStatefulSet(3)
	want := map[string]string{
		"0": w.claimOf(mesh, 0) + " rank-0: node-1/gpu-0, rank-1: node-1/gpu-1",
		"1": w.claimOf(mesh, 1) + " rank-0: node-1/gpu-2, rank-1: node-1/gpu-3",
		"2": w.claimOf(mesh, 2) + " rank-0: node-2/gpu-0, rank-1: node-2/gpu-1",
	}
	pods := w.awaitPods(3, "scheduled", scheduled)
	if diff := cmp.Diff(want, w.allocations(pods)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	for index, pod := range pods {
		if limits := pod.Spec.Containers[0].Resources.Limits; len(limits) > 0 {
			t.Errorf("pod %s asks for resources beside its claim: %v", index, limits)
		}
	}
	w.documentClaims()
	killed := pods["1"]
	w.Must(w.Delete(t.Context(), killed, client.GracePeriodSeconds(0)))
	again := w.awaitPods(3, "scheduled, one anew", func(p *corev1.Pod) bool { return scheduled(p) && p.UID != killed.UID })
	if diff := cmp.Diff(want, w.allocations(again)); diff != "" {
		t.Errorf("claims of a pod that came back (-want +got):\n%s", diff)
	}
}

// ofARun is what differs between two runs in claims as kubectl shows them, with what the page has for it.
var ofARun = []struct {
	is   *regexp.Regexp
	text string
}{{regexp.MustCompile(`(?m)^llm-\w{8}`), "llm-7f3a9c21"}, {regexp.MustCompile(`(?m)\d+s$`), "2m"}}

// documentClaims holds docs/use/claims.md to what kubectl shows; -update writes the outputs anew.
func (w *world) documentClaims() {
	w.Helper()
	page := clitest.ReadPage(w.T, filepath.Join("..", "..", "..", "docs", "use", "claims.md"))
	for _, line := range []string{
		"get accinv node-1 -o jsonpath='{.status.devices[0].service}{.status.devices[0].claimAttribute}'",
		"get resourceclaims -l rankwright.dev/placement=llm",
		"get resourceclaims -l rankwright.dev/placement=llm -o jsonpath='{.items[0].spec.devices.requests[0].exactly.selectors[0].cel.expression}'",
	} {
		printed := w.Cluster.Kubectl(w.T, append(strings.Fields(strings.ReplaceAll(line, "'", "")), "-n", w.Home)...)
		for _, v := range ofARun {
			printed = v.is.ReplaceAllString(printed, v.text)
		}
		page.ShowLine(w.T, "kubectl "+line, strings.TrimSuffix(printed, "\n")+"\n")
	}
	page.Hold(w.T)
}

// keep gives the devices of a node the taints of their slots, as the node agent's driver does. The plan's devices then come
// first, so that a scheduler without regard for taints takes one of them.
func (w *world) keep(node string) {
	w.Helper()
	inventory, slice := &v1alpha1.AcceleratorInventory{}, &resourcev1.ResourceSlice{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Name: node}, inventory))
	w.Must(w.Get(w.Context(), client.ObjectKey{Name: node + "-" + driver}, slice))
	slices.Reverse(slice.Spec.Devices)
	for i := range slice.Spec.Devices {
		for _, slot := range inventory.Status.Slots {
			if slice.Spec.Devices[i].Name == "gpu-"+strings.TrimPrefix(string(slot.Device[:len("nvidia-0000:00")]), "nvidia-0000:0") {
				slice.Spec.Devices[i].Taints = []resourcev1.DeviceTaint{{Key: slot.Resource, Effect: resourcev1.DeviceTaintEffectNoSchedule}}
			}
		}
	}
	w.Must(w.Update(w.Context(), slice))
}

// A claim of somebody else that would do with any device gets none that a plan has, even before the plan's own pods are there.
func TestDevicesOfAPlanAreKeptFromOtherClaims(t *testing.T) {
	w := newWorld(t, "kept")
	w.operate(nil)
	w.addClaimedNode("a", 3)
	w.Must(w.Create(t.Context(), w.placement("llm", 1, v1alpha1.EnforcementClaim)))
	mesh := w.awaitPlan("llm-1")
	w.awaitCondition(mesh, metav1.ConditionTrue, "ClaimsMade")
	w.Eventually("the plan's devices have slots", func(ctx context.Context) bool {
		inventory := &v1alpha1.AcceleratorInventory{}
		w.Must(w.Get(ctx, client.ObjectKey{Name: "a"}, inventory))
		return len(inventory.Status.Slots) == 2
	})
	w.keep("a")
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: "other"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "any", Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: v1alpha1.DRADeviceClass,
			Selectors:       []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `has(device.attributes["gpu.example.com"].uuid)`}}},
		}}}}},
	}
	w.Must(w.Create(t.Context(), claim))
	other := w.pod("other", nil)
	other.Labels = nil
	other.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "any", ResourceClaimName: &claim.Name}}
	other.Spec.Containers[0].Resources = corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "any"}}}
	w.Must(w.Create(t.Context(), other))
	w.Eventually("the other claim has a device", func(ctx context.Context) bool {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(claim), claim))
		return claim.Status.Allocation != nil
	})
	if device := claim.Status.Allocation.Devices.Results[0].Device; device != "gpu-2" {
		t.Errorf("it has %s, which is of the plan", device)
	}
	w.runStatefulSet(1)
	pods := w.awaitPods(1, "scheduled", scheduled)
	if diff := cmp.Diff(map[string]string{"0": w.claimOf(mesh, 0) + " rank-0: a/gpu-0, rank-1: a/gpu-1"}, w.allocations(pods)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

func TestClaimsFollowTheirCopies(t *testing.T) {
	w := newWorld(t, "reclaimed")
	w.operate(nil)
	w.addClaimedNode("a", 4)
	w.Must(w.Create(t.Context(), w.placement("llm", 1, v1alpha1.EnforcementClaim)))
	mesh := w.awaitPlan("llm-1")
	w.awaitCondition(mesh, metav1.ConditionTrue, "ClaimsMade")
	claim := func(name string) *resourcev1.ResourceClaim {
		found := &resourcev1.ResourceClaim{}
		err := w.Get(t.Context(), client.ObjectKey{Namespace: w.Home, Name: name}, found)
		if apierrors.IsNotFound(err) {
			return nil
		}
		w.Must(err)
		return found
	}
	name := w.claimOf(mesh, 0)
	first := claim(name)
	w.Must(w.Delete(t.Context(), first))
	w.Eventually("a claim that was deleted is made again", func(context.Context) bool {
		again := claim(name)
		return again != nil && again.UID != first.UID
	})
	again := claim(name)
	w.setCopies(2)
	mesh = w.awaitPlan("llm-2")
	w.awaitCondition(mesh, metav1.ConditionTrue, "ClaimsMade")
	second := w.claimOf(mesh, 1)
	if kept := claim(name); kept == nil || kept.UID != again.UID || claim(second) == nil {
		t.Errorf("the claim of the first copy was %s and is %+v, that of the second is %+v", again.UID, kept, claim(second))
	}
	w.setCopies(1)
	w.Eventually("the claim of a copy that is gone is deleted", func(context.Context) bool { return claim(second) == nil })
	if kept := claim(name); kept == nil || kept.UID != again.UID {
		t.Errorf("the claim of the first copy was %s and is %+v", again.UID, kept)
	}
	placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: "llm"}}
	w.Must(w.Delete(t.Context(), placement))
	w.Eventually("claims go with their placement", func(context.Context) bool { return claim(name) == nil })
}

func TestDeviceThatNoDriverServesIsNamed(t *testing.T) {
	w := newWorld(t, "unclaimed")
	w.operate(nil)
	w.addNode("a", 2)
	w.Must(w.Create(t.Context(), w.placement("llm", 1, v1alpha1.EnforcementClaim)))
	message := w.awaitCondition(w.awaitPlan("llm-1"), metav1.ConditionFalse, binding.ReasonDeviceUnclaimed)
	for _, part := range []string{"device nvidia-0000:00:00.0 of node a", "claimAttribute", "Slot or Advisory"} {
		if !strings.Contains(message, part) {
			t.Errorf("the condition does not say %q: %s", part, message)
		}
	}
}
