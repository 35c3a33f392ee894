package losses

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// node returns node n, changed.
func node(change func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if change != nil {
		change(n)
	}
	return n
}

// inventory returns the inventory of node n with a healthy device d, changed.
func inventory(change func(*v1alpha1.AcceleratorInventoryStatus)) *v1alpha1.AcceleratorInventory {
	i := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	i.Status = v1alpha1.AcceleratorInventoryStatus{AgentVersion: "1", Devices: []v1alpha1.Device{{ID: "d", Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy}}}}
	if change != nil {
		change(&i.Status)
	}
	return i
}

func ready(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Conditions[0].Status = status }
}

func tainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoExecute}} }
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func health(state v1alpha1.HealthState) func(*v1alpha1.AcceleratorInventoryStatus) {
	return func(s *v1alpha1.AcceleratorInventoryStatus) {
		s.Devices[0].Health = v1alpha1.DeviceHealth{State: state, Reason: "Xid79"}
	}
}

// heldBy says which pods hold device d, and another of their own where they are named so.
func heldBy(pods ...string) func(*v1alpha1.AcceleratorInventoryStatus) {
	return func(s *v1alpha1.AcceleratorInventoryStatus) {
		for _, pod := range pods {
			device := v1alpha1.DeviceID("d")
			if pod == "own-elsewhere" {
				device = "e"
			}
			s.Allocations = append(s.Allocations, v1alpha1.Allocation{Device: device, Namespace: "x", Pod: pod})
		}
	}
}

func TestLossNeedsEvidence(t *testing.T) {
	pod := func(name string, change func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}, Spec: corev1.PodSpec{NodeName: "n"}}
		if change != nil {
			change(&p)
		}
		return p
	}
	own := []corev1.Pod{pod("own", nil)}
	tolerates := func(seconds *int64) []corev1.Pod {
		return []corev1.Pod{pod("own", func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "maintenance", Operator: corev1.TolerationOpExists, TolerationSeconds: seconds}}
		})}
	}
	going := []corev1.Pod{pod("own", func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) })}
	for name, c := range map[string]struct {
		node      func(*corev1.Node)
		noNode    bool
		inventory func(*v1alpha1.AcceleratorInventoryStatus)
		blank     bool
		silent    bool
		leaves    bool
		pods      []corev1.Pod
		want      v1alpha1.LossReason
	}{
		"healthy":                              {pods: own},
		"node gone":                            {noNode: true, want: v1alpha1.LossNodeGone},
		"out of service":                       {node: tainted(corev1.TaintNodeOutOfService), pods: own, want: v1alpha1.LossNodeOutOfService},
		"not ready":                            {node: ready(corev1.ConditionFalse), pods: own, want: v1alpha1.LossNodeNotReady},
		"unreachable":                          {node: ready(corev1.ConditionUnknown), want: v1alpha1.LossNodeNotReady},
		"taint of what is not ready":           {node: tainted(corev1.TaintNodeUnreachable), pods: own},
		"evicting taint":                       {node: tainted("maintenance"), pods: own, want: v1alpha1.LossNodeTainted},
		"evicting taint, tolerated":            {node: tainted("maintenance"), pods: tolerates(nil)},
		"evicting taint, tolerated some time":  {node: tainted("maintenance"), pods: tolerates(new(int64)), want: v1alpha1.LossNodeTainted},
		"evicting taint before there are pods": {node: tainted("maintenance")},
		"cordoned":                             {node: cordoned, pods: own},
		"cordoned, pods are gone":              {node: cordoned, want: v1alpha1.LossNodeDrained},
		"cordoned, pods are going":             {node: cordoned, pods: going, want: v1alpha1.LossNodeDrained},
		"cordoned, to be left":                 {node: cordoned, pods: own, leaves: true, want: v1alpha1.LossNodeDraining},
		"cordoned, to be left, pods are gone":  {node: cordoned, leaves: true, want: v1alpha1.LossNodeDrained},
		"to be left where it is cordoned":      {pods: own, leaves: true},
		"health degraded":                      {inventory: health(v1alpha1.Degraded)},
		"health unknown":                       {inventory: health(v1alpha1.Unknown)},
		"unhealthy":                            {inventory: health(v1alpha1.Unhealthy), want: v1alpha1.LossDeviceUnhealthy},
		"unhealthy as a silent agent saw it":   {inventory: health(v1alpha1.Unhealthy), silent: true, want: v1alpha1.LossDeviceUnhealthy},
		"silent agent":                         {silent: true, pods: own},
		"device gone":                          {inventory: func(s *v1alpha1.AcceleratorInventoryStatus) { s.Devices = nil }, want: v1alpha1.LossDeviceGone},
		"a backend could not look": {inventory: func(s *v1alpha1.AcceleratorInventoryStatus) {
			s.Devices, s.Backends = nil, []v1alpha1.BackendStatus{{Name: "nvidia", State: v1alpha1.BackendFailed}}
		}},
		"inventory without status":          {inventory: func(s *v1alpha1.AcceleratorInventoryStatus) { *s = v1alpha1.AcceleratorInventoryStatus{} }},
		"no inventory":                      {blank: true},
		"held by its pod":                   {inventory: heldBy("own"), pods: own},
		"held by a stranger":                {inventory: heldBy("stranger"), pods: own, want: v1alpha1.LossDeviceOccupied},
		"held by nobody knows":              {inventory: heldBy("another"), pods: own},
		"a stranger, and its pod elsewhere": {inventory: heldBy("stranger", "own-elsewhere"), pods: []corev1.Pod{pod("own-elsewhere", nil)}},
		"a stranger as a silent agent saw":  {inventory: heldBy("stranger"), pods: own, silent: true},
		"a stranger as the kubelet said once": {inventory: func(s *v1alpha1.AcceleratorInventoryStatus) {
			heldBy("stranger")(s)
			s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAllocationsCurrent, Status: metav1.ConditionFalse}}
		}, pods: own},
	} {
		t.Run(name, func(t *testing.T) {
			n, i := node(c.node), inventory(c.inventory)
			if c.noNode {
				n = nil
			}
			if c.blank {
				i = nil
			}
			host := fleet.NewHost(n, i, c.silent)
			scene := &Scene{
				Rows: []v1alpha1.PlanRow{{Node: "n", Replica: 2, Devices: []v1alpha1.DeviceID{"d"}}}, Host: func(string) *fleet.Host { return host },
				Pods: c.pods, Strangers: map[types.NamespacedName]bool{{Namespace: "x", Name: "stranger"}: true},
				LeavesCordoned: c.leaves,
			}
			var got v1alpha1.LossReason
			for _, loss := range Find(scene) {
				got = loss.Reason
				if !cmp.Equal(loss.Replicas, []int32{2}) || loss.Node != "n" || (loss.Device != "") != (kindOf(got).device != nil) {
					t.Errorf("got %+v", loss)
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What is there still runs: no rank of it is lost, so that nobody is moved in a hurry and no engine goes on without it.
func TestWhatIsToBeLeftIsNotLost(t *testing.T) {
	rows := []v1alpha1.PlanRow{{Node: "n", Devices: []v1alpha1.DeviceID{"d"}}, {Node: "m", Replica: 1, Devices: []v1alpha1.DeviceID{"e"}}}
	found := []v1alpha1.Loss{{Reason: v1alpha1.LossNodeDraining, Node: "n"}, {Reason: v1alpha1.LossNodeDrained, Node: "m"}}
	if got := Ranks(found, rows); len(got) != 1 || got[0].Node != "m" {
		t.Errorf("lost ranks %+v, want the one on m", got)
	}
	if got := Leaving(found); len(got) != 1 || got[0].Node != "n" {
		t.Errorf("to be left: %+v, want n", got)
	}
}

// Who holds drains moves off a node that is cordoned at once, whatever became of its pods.
func TestDrainHasNoGrace(t *testing.T) {
	minute := int32(60)
	found := []v1alpha1.Loss{{Reason: v1alpha1.LossNodeDrained, Node: "n"}}
	for drain, want := range map[*v1alpha1.DrainPolicy]time.Duration{nil: time.Minute, {}: 0} {
		policy := &v1alpha1.FailurePolicy{NodeDrainedSeconds: &minute, Drain: drain}
		if got := Date(found, nil, policy, at(0))[0]; got.Due.Sub(got.Since.Time) != want {
			t.Errorf("with drain %v a drained node is borne for %s, want %s", drain, got.Due.Sub(got.Since.Time), want)
		}
	}
}
