package why

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/holding"
)

const device = "nvidia-0000:01:00.0"

// newCase is a node with one device, and a placement of which nothing is said.
func newCase() *Case {
	s := &holding.State{}
	s.Nodes = []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"pool": "a"}}}}
	s.Inventories = []v1alpha1.AcceleratorInventory{{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: v1alpha1.AcceleratorInventoryStatus{Devices: []v1alpha1.Device{{
		ID: device, Vendor: "nvidia", Product: "NVIDIA L40S", Family: "GPU", Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy}, Memory: &v1alpha1.DeviceMemory{TotalMiB: 1000},
	}}}}}
	s.Placements = []v1alpha1.ModelPlacement{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}}
	return &Case{State: s}
}

// says gives the placement a condition Placed that is False.
func (c *Case) says(reason string) {
	c.State.Placements[0].Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionPlaced, Status: metav1.ConditionFalse, Reason: reason, Message: "It is said."}}
}

func (c *Case) spoil() { c.State.Inventories[0].Status.Devices[0].Health.State = v1alpha1.Unhealthy }
func (c *Case) drain() { c.State.Nodes[0].Spec.Unschedulable = true }
func (c *Case) occupy() {
	c.State.Inventories[0].Status.Allocations = []v1alpha1.Allocation{{Device: device, Namespace: "x", Pod: "y"}}
}

// The cause of a shortage is what the placement would fit without, and to ask changes nothing.
func TestShortage(t *testing.T) {
	free := func(in *fleet.State) bool {
		of := &in.Inventories[0]
		return len(of.Status.Allocations) == 0 && len(of.Spec.CordonedDevices) == 0 && of.Status.Devices[0].Usable() && !in.Nodes[0].Spec.Unschedulable && !in.Silent["n"]
	}
	alone := func(in *fleet.State) bool { return in.Inventories[0].Status.Devices[0].Memory.UsedByOthersMiB == 0 }
	linked := func(in *fleet.State) bool { return len(in.Inventories[0].Status.Links.Domains) > 0 }
	never := func(*fleet.State) bool { return false }
	for name, test := range map[string]struct {
		prepare         func(*Case)
		fits            func(*fleet.State) bool
		reason, command string
	}{
		"cordoned":         {func(c *Case) { c.State.Inventories[0].Spec.CordonedDevices = []v1alpha1.DeviceID{device} }, free, "Cordoned", "kubectl rankwright uncordon device/n/" + device},
		"drained":          {(*Case).drain, free, "NodeDrained", "kubectl uncordon n"},
		"silent agent":     {func(c *Case) { c.State.Silent = map[string]bool{"n": true} }, free, "NodeDrained", "kubectl get pods -A -l app.kubernetes.io/name=rankwright"},
		"stranger":         {(*Case).occupy, free, "TakenByStrangers", "kubectl delete pod y -n x"},
		"unhealthy":        {(*Case).spoil, free, "Unhealthy", "kubectl drain n"},
		"two at once":      {func(c *Case) { c.spoil(); c.drain() }, free, "SeveralObstacles", "kubectl uncordon n"},
		"memory of others": {func(c *Case) { c.State.Inventories[0].Status.Devices[0].Memory.UsedByOthersMiB = 500 }, alone, "MemoryOfOthers", "kubectl debug node/n"},
		"links":            {func(*Case) {}, linked, "NoLinkDomain", "kubectl edit mp p -n ns"},
		"fits by now":      {func(*Case) {}, free, "FitsNow", "kubectl rankwright replan mp/p -n ns"},
		"fits as is seen":  {func(c *Case) { c.State.Unseen = []holding.Unseen{{Kind: holding.Nodes}} }, free, "NotSeen", "kubectl describe mp p -n ns"},
		"too large":        {(*Case).drain, never, "TooLarge", "kubectl edit mp p -n ns"},
		"nodes of others": {func(c *Case) {
			c.drain()
			c.State.Placements[0].Spec.Devices = &v1alpha1.DeviceRequirements{NodeLabelSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "b"}}}
		}, free, "TooLarge", "kubectl edit mp p -n ns"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCase()
			c.says("TooLarge")
			test.prepare(c)
			c.Fits = func(_ *v1alpha1.ModelPlacement, in fleet.State) bool { return test.fits(&in) }
			for range 2 {
				got := OfPlacement(c, &c.State.Placements[0])
				if got.Reason != test.reason || len(got.Commands) == 0 || !strings.HasPrefix(got.Commands[0], test.command) || len(got.Evidence) == 0 {
					t.Errorf("%+v; want %s and %q", got, test.reason, test.command)
				}
			}
		})
	}
}

// Where no planner can be asked, what the operator says is the answer.
func TestPlacementsWithoutAPlanner(t *testing.T) {
	for reason, want := range map[string]string{
		"TooLarge": "TooLarge", "NoneFree": "TooLarge", "Unsupported": "WrongEngine", "QuotaExceeded": "QuotaExceeded", "NoMatch": "NoMatch", "NoDevices": "NoDevices",
		"Suspended": "Suspended", "InvalidSpec": "InvalidSpec", "KeyNotFound": "ModelMissing", "LedgerFull": "NotPlanned",
	} {
		c := newCase()
		c.says(reason)
		if got := OfPlacement(c, &c.State.Placements[0]); got.Reason != want || len(got.Evidence) == 0 || got.Evidence[0] != "It is said" || len(got.Commands) == 0 {
			t.Errorf("%s: %+v; want %s", reason, got, want)
		}
	}
}

// boundPod is a pod that the operator bound to the device and to a claim.
func boundPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", Labels: map[string]string{v1alpha1.LabelPlacement: "p"}, Annotations: map[string]string{
			v1alpha1.AnnotationPlacementUID: "u", v1alpha1.AnnotationDevices: device, binding.AnnotationNode: "n",
		}},
		Spec: corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: ptr.To("claim")}}},
	}
}

func gated(p *corev1.Pod) {
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.Prefix + "placement"}}
}

func TestPods(t *testing.T) {
	claimed := func(c *Case) {
		c.Claims = []resourcev1.ResourceClaim{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "claim", UID: "1"}}}
	}
	hides := func(c *Case, kind string) { c.State.Unseen = []holding.Unseen{{Kind: kind}} }
	for name, test := range map[string]struct {
		edit   func(*Case, *corev1.Pod)
		reason string
	}{
		"ends":            {func(_ *Case, p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Now()) }, "Terminating"},
		"gate of others":  {func(_ *Case, p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "x"}} }, "Gated"},
		"no placement":    {func(c *Case, p *corev1.Pod) { gated(p); c.State.Placements = nil }, "PlacementMissing"},
		"no plan":         {func(c *Case, p *corev1.Pod) { gated(p); c.says("QuotaExceeded") }, "QuotaExceeded"},
		"no claim":        {func(*Case, *corev1.Pod) {}, "ClaimMissing"},
		"claims not seen": {func(c *Case, _ *corev1.Pod) { hides(c, Claims) }, "Unschedulable"},
		"not offered":     {func(c *Case, _ *corev1.Pod) { claimed(c) }, "NotOffered"},
		"slices not seen": {func(c *Case, _ *corev1.Pod) { claimed(c); hides(c, Slices) }, "ClaimNotAllocated"},
		"node drained":    {func(c *Case, p *corev1.Pod) { p.Spec.ResourceClaims = nil; c.drain() }, "NodeDrained"},
		"no node":         {func(_ *Case, p *corev1.Pod) { p.Spec.ResourceClaims = nil }, "Unschedulable"},
		"not started":     {func(_ *Case, p *corev1.Pod) { p.Spec.NodeName = "n" }, "NotStarted"},
		"refused": {func(_ *Case, p *corev1.Pod) {
			p.Spec.NodeName, p.Status.Phase, p.Status.Reason = "n", corev1.PodFailed, "UnexpectedAdmissionError"
		}, "RefusedByKubelet"},
		"image": {func(_ *Case, p *corev1.Pod) {
			p.Spec.NodeName = "n"
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "engine", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
		}, "ContainerWaits"},
		"device taken":     {func(c *Case, p *corev1.Pod) { p.Spec.NodeName = "n"; c.occupy() }, "TakenByStranger"},
		"device unhealthy": {func(c *Case, p *corev1.Pod) { p.Spec.NodeName = "n"; c.spoil() }, "Unhealthy"},
		"not ready":        {func(_ *Case, p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "n", corev1.PodRunning }, "NotReady"},
		"ready": {func(_ *Case, p *corev1.Pod) {
			p.Spec.NodeName, p.Status.Phase = "n", corev1.PodRunning
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}, "Running"},
	} {
		t.Run(name, func(t *testing.T) {
			c, p := newCase(), boundPod()
			test.edit(c, p)
			if got := OfPod(c, p); got.Reason != test.reason || got.Cause == "" {
				t.Errorf("%+v; want %s", got, test.reason)
			}
		})
	}
}

// Edits of one suggestion become one patch, which a shell takes as one word.
func TestPatch(t *testing.T) {
	p := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "llm"}}
	for want, edits := range map[string][]v1alpha1.FieldEdit{
		`kubectl patch mp llm -n home --type merge -p '{"spec":{"engine":"vLLM","parallelism":{"pipeline":null,"tensor":2}}}'`: {
			{Path: "spec.parallelism.tensor", Value: "2"}, {Path: "spec.parallelism.pipeline", Value: "null"}, {Path: "spec.engine", Value: `"vLLM"`},
		},
		`kubectl patch mp llm -n home --type merge -p '{"spec":{"engine":"it'\''s"}}'`: {{Path: "spec.engine", Value: `"it's"`}},
		"": {{Path: "spec.devices.products[0]", Value: `"H100"`}},
	} {
		if got := PatchCommand(p, edits); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
	if got := PatchCommand(p, nil); got != "" {
		t.Errorf("%s for no edits", got)
	}
	if got, want := Quoted("it's"), `'it'\''s'`; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
