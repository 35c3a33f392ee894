package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/losses"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/calls"
	"github.com/rankwright/rankwright/test/operation"
)

// changeNode changes a node and its status.
func (w world) changeNode(name string, change func(*corev1.Node)) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Change(node, func() { change(node) })
}

// kubelet is what the kubelet of a node says, or what is said of one that is silent.
func kubelet(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	}
}

func taint(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute})
	}
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

// runOn makes a pod that runs on a node, of placement llm or of none.
func (w world) runOn(node, name string, labels map[string]string) {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name, Labels: labels},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "model", Image: "model"}}},
	}
	w.Must(w.Create(w.Context(), pod))
	w.Change(pod, func() { pod.Status.Phase = corev1.PodRunning })
}

// story is what was seen of placement llm: at no time is it Ready while something is lost.
type story struct {
	world

	mu       sync.Mutex
	versions map[string]bool
	false    []string
	plans    []string
}

// follow reads each status that placement llm has from now on.
func (w world) follow() *story {
	w.Helper()
	events, err := w.Watch(context.WithoutCancel(w.Context()), &v1alpha1.ModelPlacementList{}, client.InNamespace(testNamespace))
	w.Must(err)
	s, ended := &story{world: w, versions: map[string]bool{}}, make(chan struct{})
	go func() {
		defer close(ended)
		for event := range events.ResultChan() {
			if p, is := event.Object.(*v1alpha1.ModelPlacement); is && p.Name == "llm" {
				s.see(p)
			}
		}
	}()
	w.Cleanup(func() { events.Stop(); <-ended })
	return s
}

func (s *story) see(p *v1alpha1.ModelPlacement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[p.ResourceVersion] = true
	if p.Status.Plan != "" && !slices.Contains(s.plans, p.Status.Plan) {
		s.plans = append(s.plans, p.Status.Plan)
	}
	if len(p.Status.Losses) > 0 && placed(p).Reason == v1alpha1.ReasonPlaced {
		s.false = append(s.false, fmt.Sprintf("%+v", p.Status.Losses))
	}
}

// check fails the test where the placement had other plans up to now, or was Ready though something was lost.
func (s *story) check(plans ...string) {
	s.Helper()
	now := s.placement("llm")
	s.Eventually("what is written of the placement is seen", func(context.Context) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.versions[now.ResourceVersion]
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.false) > 0 {
		s.Errorf("Ready though something is lost: %s", s.false)
	}
	if !cmp.Equal(s.plans, plans) {
		s.Errorf("plans %s, want %s", s.plans, plans)
	}
}

// two places two copies on nodes n1 and n2, and leaves n3 empty. It returns the operator's clock and what is seen of the placement.
func (w world) two() (*clock, *story) {
	w.Helper()
	now := newClock()
	w.operate(operator.Options{Planner: operation.KeepingFit, Now: now.Now})
	for _, name := range []string{"n1", "n2"} {
		w.addNode(name, 1)
		w.changeNode(name, kubelet(corev1.ConditionTrue))
	}
	w.place(w.PlacementOf("llm", 1, 2))
	w.awaitPlan("llm", "llm-1")
	w.addNode("n3", 1)
	w.changeNode("n3", kubelet(corev1.ConditionTrue))
	return now, w.follow()
}

// TestLosses is the table of docs/use/failure.md: each is known at once, is borne until its grace is over, is then answered by one plan in which
// the other copy keeps its place, and at no time is the placement Ready while a rank cannot run.
func TestLosses(t *testing.T) {
	own := map[string]string{v1alpha1.LabelPlacement: "llm", v1alpha1.LabelPlan: "llm-1"}
	stranger := func(w world) {
		w.runOn("n1", "stranger", nil)
		w.changeInventory(func(i *v1alpha1.AcceleratorInventory) {
			i.Status.Allocations = []v1alpha1.Allocation{{Device: operation.DeviceID(0), Namespace: testNamespace, Pod: "stranger"}}
		})
	}
	for _, c := range []struct {
		reason v1alpha1.LossReason
		name   string
		before func(world)
		happen func(world)
		grace  time.Duration
	}{
		{
			reason: v1alpha1.LossNodeNotReady, name: "the kubelet is not ready", grace: 300 * time.Second,
			happen: func(w world) { w.changeNode("n1", kubelet(corev1.ConditionFalse)) },
		},
		{
			reason: v1alpha1.LossNodeNotReady, name: "the kubelet is silent", grace: 300 * time.Second,
			happen: func(w world) { w.changeNode("n1", kubelet(corev1.ConditionUnknown)) },
		},
		{
			reason: v1alpha1.LossNodeOutOfService, name: "marked out of service",
			happen: func(w world) { w.changeNode("n1", taint(corev1.TaintNodeOutOfService)) },
		},
		{
			reason: v1alpha1.LossNodeTainted, name: "a taint that evicts the pods",
			before: func(w world) { w.runOn("n1", "llm-a", own); w.runOn("n2", "llm-b", own) },
			happen: func(w world) { w.changeNode("n1", taint("maintenance")) },
		},
		{
			reason: v1alpha1.LossNodeDrained, name: "drained", grace: time.Minute,
			before: func(w world) {
				w.runOn("n1", "llm-a", own)
				w.runOn("n2", "llm-b", own)
				w.changeNode("n1", cordoned)
				w.settle()
				w.awaitPlan("llm", "llm-1")
			},
			happen: func(w world) {
				w.Must(w.Delete(w.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "llm-a"}}, client.GracePeriodSeconds(0)))
			},
		},
		{
			reason: v1alpha1.LossNodeDrained, name: "drained while drains are held",
			before: func(w world) {
				w.holdDrains()
				w.runOn("n1", "llm-a", own)
				w.runOn("n2", "llm-b", own)
			},
			happen: func(w world) {
				w.Must(w.Delete(w.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "llm-a"}}, client.GracePeriodSeconds(0)))
				w.changeNode("n1", cordoned)
			},
		},
		{
			reason: v1alpha1.LossNodeGone, name: "deleted",
			happen: func(w world) { w.Must(w.Delete(w.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})) },
		},
		{reason: v1alpha1.LossDeviceUnhealthy, name: "an unhealthy device", happen: func(w world) { w.changeInventory(damage(v1alpha1.Unhealthy)) }},
		{
			reason: v1alpha1.LossDeviceGone, name: "a device that is not there any more",
			happen: func(w world) { w.changeInventory(func(i *v1alpha1.AcceleratorInventory) { i.Status.Devices = nil }) },
		},
		{reason: v1alpha1.LossDeviceOccupied, name: "a device that a stranger holds", grace: time.Minute, happen: stranger},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, wholeCluster)
			now, story := w.two()
			if c.before != nil {
				c.before(w)
			}
			c.happen(w)
			known := w.awaitReason("llm", "DevicesLost")
			device := operation.DeviceID(0)
			if strings.HasPrefix(string(c.reason), "Node") {
				device = ""
			}
			if l := known.Status.Losses; len(l) != 1 || l[0].Reason != c.reason || l[0].Node != "n1" || l[0].Device != device ||
				!cmp.Equal(l[0].Replicas, []int32{0}) || !l[0].Since.Time.Equal(now.Now()) || l[0].Due.Sub(l[0].Since.Time) != c.grace {
				t.Fatalf("losses %+v", l)
			}
			w.awaitLostRank(c.reason)
			w.pass(now, max(c.grace, losses.Window)-time.Second, "n2")
			if got := w.placement("llm").Status.Plan; got != "llm-1" {
				t.Fatalf("plan %s before the grace is over", got)
			}
			w.pass(now, time.Second, "n2")
			got := devicesOf(w.awaitPlan("llm", "llm-2"))
			if want := []string{"n3/" + string(operation.DeviceID(0)), "n2/" + string(operation.DeviceID(0))}; !cmp.Equal(got, want) {
				t.Errorf("the new plan has %v, want %v", got, want)
			}
			w.pass(now, time.Hour, "n2")
			story.check("llm-1", "llm-2")
		})
	}
}

// holdDrains has placement llm move off nodes that are cordoned.
func (w world) holdDrains() {
	w.Helper()
	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.FailurePolicy.Drain = &v1alpha1.DrainPolicy{} })
	w.awaitAnswered("llm-1")
}

// A cordoned node that is to be left is answered as a loss is, by one plan, and is none: all ranks run meanwhile, and the mesh says so.
func TestCordonedNodeIsLeftWhereDrainsAreHeld(t *testing.T) {
	w := newWorld(t, wholeCluster)
	now, story := w.two()
	w.holdDrains()
	own := map[string]string{v1alpha1.LabelPlacement: "llm", v1alpha1.LabelPlan: "llm-1"}
	w.runOn("n1", "llm-a", own)
	w.runOn("n2", "llm-b", own)
	runs := func(mesh *v1alpha1.DeviceMesh) bool {
		return len(mesh.Status.LostRanks) == 0 && meta.IsStatusConditionTrue(mesh.Status.Conditions, v1alpha1.ConditionReady)
	}
	w.Eventually("all ranks run", func(context.Context) bool { return runs(w.mesh()) })
	cordon := func(is bool) func(*corev1.Node) { return func(n *corev1.Node) { n.Spec.Unschedulable = is } }
	leaving := func() {
		t.Helper()
		w.changeNode("n1", cordon(true))
		known := w.awaitReason("llm", v1alpha1.ReasonDraining)
		if l := known.Status.Losses; len(l) != 1 || l[0].Reason != v1alpha1.LossNodeDraining || l[0].Node != "n1" || !cmp.Equal(l[0].Replicas, []int32{0}) ||
			l[0].Due != l[0].Since {
			t.Fatalf("losses %+v", l)
		}
		if mesh := w.mesh(); !runs(mesh) {
			t.Errorf("the mesh is %+v", mesh.Status)
		}
	}
	leaving()
	w.changeNode("n1", cordon(false)) // within the window
	w.awaitPlan("llm", "llm-1")
	w.pass(now, time.Minute, "n2")
	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.FailurePolicy.Action = v1alpha1.FailureHold })
	w.settle()
	leaving()
	w.pass(now, time.Minute, "n2")
	if said := w.awaitReason("llm", v1alpha1.ReasonDraining); !strings.Contains(placed(said).Message, "uncordon the node") {
		t.Errorf("with action Hold it says %q", placed(said).Message)
	}
	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.FailurePolicy.Action = v1alpha1.FailureAnyShape })
	got := devicesOf(w.awaitPlan("llm", "llm-2"))
	if want := []string{"n3/" + string(operation.DeviceID(0)), "n2/" + string(operation.DeviceID(0))}; !cmp.Equal(got, want) {
		t.Errorf("the new plan has %v, want %v", got, want)
	}
	w.changeNode("n1", cordon(false))
	w.pass(now, time.Hour, "n2")
	story.check("llm-1", "llm-2")
}

// One drained node after the other is answered ever later, as losses are.
func TestDrainsAreAnsweredEverLater(t *testing.T) {
	w := newWorld(t, wholeCluster)
	now, story := w.two()
	w.holdDrains()
	own := map[string]string{v1alpha1.LabelPlacement: "llm", v1alpha1.LabelPlan: "llm-1"}
	for i, node := range []string{"n1", "n2", "n3"} {
		w.runOn(node, fmt.Sprint("llm-", i), own)
	}
	w.changeNode("n1", cordoned)
	w.awaitReason("llm", v1alpha1.ReasonDraining)
	w.pass(now, losses.Window, "n2")
	w.awaitPlan("llm", "llm-2")
	w.addNode("n4", 1)
	w.changeNode("n2", cordoned)
	w.awaitReason("llm", v1alpha1.ReasonDraining)
	w.pass(now, losses.Window, "n2")
	w.awaitReason("llm", losses.ReasonLimited)
	w.pass(now, time.Minute, "n2")
	w.awaitPlan("llm", "llm-3")
	story.check("llm-1", "llm-2", "llm-3")
}

// awaitLostRank waits until the mesh names the rank that cannot run.
func (w world) awaitLostRank(reason v1alpha1.LossReason) {
	w.Helper()
	w.Eventually("the mesh names the lost rank", func(context.Context) bool {
		mesh := w.mesh()
		return len(mesh.Status.LostRanks) == 1 && mesh.Status.LostRanks[0].Replica == 0 && strings.HasPrefix(mesh.Status.LostRanks[0].Reason, string(reason)) &&
			meta.IsStatusConditionTrue(mesh.Status.Conditions, v1alpha1.ConditionDegraded)
	})
}

// TestWhatComesBackInTimeIsNoLoss: the grace begins anew with each loss.
func TestWhatComesBackInTimeIsNoLoss(t *testing.T) {
	w := newWorld(t, wholeCluster)
	now, story := w.two()
	for range 10 {
		w.changeNode("n1", kubelet(corev1.ConditionFalse))
		w.awaitReason("llm", "DevicesLost")
		w.pass(now, 200*time.Second, "n2")
		w.changeNode("n1", kubelet(corev1.ConditionTrue))
		w.awaitPlan("llm", "llm-1")
	}
	story.check("llm-1")
}

// TestLossesThatComeTogetherAreOneIncident loses two nodes within the window.
func TestLossesThatComeTogetherAreOneIncident(t *testing.T) {
	w := newWorld(t, wholeCluster)
	now, story := w.two()
	w.addNode("n4", 1)
	w.changeNode("n1", taint(corev1.TaintNodeOutOfService))
	w.awaitReason("llm", "DevicesLost")
	w.pass(now, losses.Window-time.Second, "n3")
	w.changeNode("n2", taint(corev1.TaintNodeOutOfService))
	w.Eventually("both losses are known", func(context.Context) bool { return len(w.placement("llm").Status.Losses) == 2 })
	w.pass(now, time.Second, "n2")
	if got := devicesOf(w.awaitPlan("llm", "llm-2")); len(got) != 2 || !strings.HasPrefix(got[0], "n3/") || !strings.HasPrefix(got[1], "n4/") {
		t.Errorf("the new plan has %v", got)
	}
	story.check("llm-1", "llm-2")
}

// TestFlappingIsAnsweredEverLater makes one device after the other unhealthy, ten times in two minutes, and ends the operator in between:
// the next plan follows after a minute, and the one after that after two.
func TestFlappingIsAnsweredEverLater(t *testing.T) {
	w := newWorld(t, wholeCluster)
	now := newClock()
	options := operator.Options{Planner: operation.FirstFit, Now: now.Now}
	stop := w.RunOperator(options)
	w.addNode("n1", 2)
	w.addNode("n2", 1)
	w.place(w.PlacementOf("llm", 1, 1))
	w.awaitPlan("llm", "llm-1")
	story := w.follow()
	for i := range 10 {
		w.changeInventory(func(inventory *v1alpha1.AcceleratorInventory) {
			for d := range inventory.Status.Devices {
				inventory.Status.Devices[d].Health.State = v1alpha1.Healthy
				if d == i%2 {
					inventory.Status.Devices[d].Health.State = v1alpha1.Unhealthy
				}
			}
		})
		w.Eventually("the loss is known, where it is one", func(context.Context) bool {
			p := w.placement("llm")
			var plan v1alpha1.ShardingPlan
			err := w.Get(t.Context(), client.ObjectKey{Namespace: testNamespace, Name: p.Status.Plan}, &plan)
			w.Must(client.IgnoreNotFound(err)) // it may be replaced, and not be said yet
			return err == nil && (len(p.Status.Losses) > 0) == (devicesOf(&plan)[0] == "n1/"+string(operation.DeviceID(i%2)))
		})
		w.pass(now, losses.Window, "n1")
		if i == 3 {
			if got := w.awaitReason("llm", losses.ReasonLimited); !strings.Contains(placed(got).Message, "the next one follows at") {
				t.Errorf("message %q", placed(got).Message)
			}
			stop()
			stop = w.RunOperator(options)
			w.settle()
		}
		w.pass(now, 7*time.Second, "n1")
	}
	story.check("llm-1", "llm-2", "llm-3")
}

// TestManyNodesAtOnceAreNotBelieved: above a fifth of the nodes the network is more likely to have failed than they.
func TestManyNodesAtOnceAreNotBelieved(t *testing.T) {
	w := newWorld(t, wholeCluster)
	now, story := w.two()
	w.changeNode("n1", kubelet(corev1.ConditionUnknown))
	w.changeNode("n2", kubelet(corev1.ConditionUnknown))
	w.awaitReason("llm", "DevicesLost")
	w.pass(now, time.Hour, "n1")
	if got := w.awaitReason("llm", losses.ReasonTooManyNodes); !strings.Contains(placed(got).Message, "2 of 3 nodes") {
		t.Errorf("message %q", placed(got).Message)
	}
	w.changeNode("n2", kubelet(corev1.ConditionTrue))
	if got := devicesOf(w.awaitPlan("llm", "llm-2")); !strings.HasPrefix(got[0], "n3/") || !strings.HasPrefix(got[1], "n2/") {
		t.Errorf("the new plan has %v", got)
	}
	story.check("llm-1", "llm-2")
}

// TestDriftIsSaidAndMovesNothing gives a pod another device of its node than it was bound to.
func TestDriftIsSaidAndMovesNothing(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.KeepingFit})
	w.addNode("n1", 2)
	w.place(w.PlacementOf("llm", 1, 1))
	w.awaitPlan("llm", "llm-1")
	story := w.follow()
	w.runOn("n1", "llm-a", map[string]string{v1alpha1.LabelPlacement: "llm", v1alpha1.LabelPlan: "llm-1"})
	pod := &corev1.Pod{}
	w.Must(w.Get(t.Context(), client.ObjectKey{Namespace: testNamespace, Name: "llm-a"}, pod))
	before := client.MergeFrom(pod.DeepCopy())
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha1.AnnotationDevices, string(operation.DeviceID(0)))
	w.Must(w.Patch(t.Context(), pod, before))
	for _, c := range []struct {
		device int
		status metav1.ConditionStatus
		text   string
	}{{1, metav1.ConditionTrue, "pod llm-a on node n1 has " + string(operation.DeviceID(1))}, {0, metav1.ConditionFalse, "1 pod reported as planned"}} {
		w.changeInventory(func(i *v1alpha1.AcceleratorInventory) {
			i.Status.Allocations = []v1alpha1.Allocation{{Device: operation.DeviceID(c.device), Namespace: testNamespace, Pod: "llm-a"}}
		})
		w.Eventually(fmt.Sprintf("Drifted is %s and says %q", c.status, c.text), func(context.Context) bool {
			d := meta.FindStatusCondition(w.placement("llm").Status.Conditions, v1alpha1.ConditionDrifted)
			return d != nil && d.Status == c.status && strings.Contains(d.Message, c.text)
		})
	}
	story.check("llm-1")
}

// TestSilentAgentsAreAConditionAndNoLoss: one falls silent, then all, then all are heard of again. Leases are listed when one falls silent, and not each time they are looked at.
func TestSilentAgentsAreAConditionAndNoLoss(t *testing.T) {
	w := newWorld(t, wholeCluster)
	now := newClock()
	for _, name := range []string{"n1", "n2", "n3"} {
		w.addNode(name, 1)
		w.beat(name)
	}
	made := &calls.Counter{}
	w.Transport = made.Wrap
	w.operate(operator.Options{Planner: operation.KeepingFit, Now: now.Now, Housekeeping: 20 * time.Millisecond})
	w.place(w.PlacementOf("llm", 1, 2))
	w.awaitPlan("llm", "llm-1")
	story := w.follow()
	awaitObserved := func(beating []string, status metav1.ConditionStatus, names ...string) {
		t.Helper()
		w.Eventually(fmt.Sprintf("Observed is %s and names %s", status, names), func(context.Context) bool {
			now.advance(10 * time.Second)
			for _, node := range beating {
				w.beat(node)
			}
			c := meta.FindStatusCondition(w.placement("llm").Status.Conditions, v1alpha1.ConditionObserved)
			return c != nil && c.Status == status && !slices.ContainsFunc(names, func(name string) bool { return !strings.Contains(c.Message, name) })
		})
	}
	awaitObserved([]string{"n1", "n2"}, metav1.ConditionTrue)
	awaitObserved([]string{"n2"}, metav1.ConditionFalse, "n1")
	awaitObserved(nil, metav1.ConditionFalse, "n1", "n2")
	if p := w.placement("llm"); placed(p).Reason != v1alpha1.ReasonPlaced || len(p.Status.Losses) > 0 {
		t.Errorf("Placed is %+v, losses %+v", placed(p), p.Status.Losses)
	}
	awaitObserved([]string{"n1", "n2"}, metav1.ConditionTrue)
	story.check("llm-1")
	const start, nodes = 1, 3
	if lists := made.Calls()["list leases"].Requests; lists > start+nodes {
		t.Errorf("Leases were listed %d times while %d agents fell silent", lists, nodes)
	}
}
