package operator

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/controllers/repair"
	"github.com/rankwright/rankwright/test/operation"
)

// mender is an operator that repairs, which a test kills and starts again.
type mender struct {
	world
	*clock
	settings *repair.Settings
	stop     func()
}

// newMender installs what an administrator gives the repairs' service account, and starts an operator.
func newMender(t *testing.T, settings string) *mender {
	t.Helper()
	w := newWorld(t, wholeCluster)
	w.Must(client.IgnoreNotFound(w.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operation.Namespace, Name: repair.Name}})))
	w.AllowRepairs()
	w.Must(w.DeleteAllOf(t.Context(), &batchv1.Job{}, client.InNamespace(operation.RepairNamespace), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	parsed, err := repair.ParseSettings([]byte(settings))
	w.Must(err)
	m := &mender{world: w, clock: newClock(), settings: parsed, stop: func() {}}
	m.restart()
	return m
}

// restart ends the operator, and starts another that knows nothing of it. It returns when that one has looked: what it sees first it takes to have
// begun then.
func (m *mender) restart() {
	m.Helper()
	m.stop()
	m.stop = m.RunOperator(operator.Options{Planner: operation.KeepingFit, Now: m.Now, Repairs: m.settings})
	m.settle()
}

// later sets the clock forward and has a node looked at.
func (m *mender) later(d time.Duration, node string) {
	m.Helper()
	m.pass(m.clock, d, node)
}

func (m *mender) repairOf(node string) v1alpha1.Repair {
	m.Helper()
	var inventory v1alpha1.AcceleratorInventory
	m.Must(m.Get(m.Context(), client.ObjectKey{Name: node}, &inventory))
	if r := inventory.Status.Repair(operation.DeviceID(0)); r != nil {
		return *r
	}
	return v1alpha1.Repair{}
}

func (m *mender) awaitState(node string, state v1alpha1.RepairState, says string) {
	m.Helper()
	m.Eventually("the device of "+node+" is "+string(state)+": "+says, func(context.Context) bool {
		r := m.repairOf(node)
		return r.State == state && strings.Contains(r.Message, says)
	})
}

func (m *mender) jobs() []batchv1.Job {
	m.Helper()
	var jobs batchv1.JobList
	m.Must(m.List(m.Context(), &jobs, client.InNamespace(operation.RepairNamespace)))
	return jobs.Items
}

// awaitJob waits until there is one job of any of some nodes.
func (m *mender) awaitJob(nodes ...string) *batchv1.Job {
	m.Helper()
	var found *batchv1.Job
	m.Eventually("there is a job for "+strings.Join(nodes, " or "), func(context.Context) bool {
		for _, job := range m.jobs() {
			if slices.Contains(nodes, job.Labels["node"]) && len(job.Status.Conditions) == 0 {
				found = &job
			}
		}
		return found != nil
	})
	return found
}

func (m *mender) damage(node string, state v1alpha1.HealthState) {
	m.Helper()
	var inventory v1alpha1.AcceleratorInventory
	m.Must(m.Get(m.Context(), client.ObjectKey{Name: node}, &inventory))
	before := client.MergeFrom(inventory.DeepCopy())
	since := metav1.NewTime(m.Now())
	inventory.Status.Devices[0].Health = v1alpha1.DeviceHealth{State: state, Reason: "XID79", Since: &since}
	m.Must(m.Status().Patch(m.Context(), &inventory, before))
}

// One device from its fault back to work, with another operator for each step. A cordon of the administrator's stays.
func TestRepairFromFaultToReturn(t *testing.T) {
	m := newMender(t, operation.RepairJob)
	m.addNode("n1", 4)
	m.cordon(operation.DeviceID(3))
	m.place(m.PlacementOf("llm", 1, 1))
	m.awaitPlan("llm", "llm-1")

	m.damage("n1", v1alpha1.Unhealthy)
	m.awaitState("n1", v1alpha1.RepairCordoned, "Ranks")
	m.restart()
	m.later(time.Minute, "n1")
	if got := devicesOf(m.awaitPlan("llm", "llm-2")); len(got) != 1 || got[0] != "n1/"+string(operation.DeviceID(1)) {
		t.Errorf("the copy moved to %v", got)
	}
	m.awaitState("n1", v1alpha1.RepairVacated, "A repair begins at")

	m.changeNode("n1", func(n *corev1.Node) {
		n.Labels = map[string]string{"nvidia.com/gpu-driver-upgrade-state": "pod-restart-required"}
	})
	m.later(time.Hour, "n1")
	m.awaitState("n1", v1alpha1.RepairVacated, "the GPU operator, which upgrades the driver (label nvidia.com/gpu-driver-upgrade-state=pod-restart-required)")
	m.restart()
	if jobs := m.jobs(); len(jobs) > 0 {
		t.Errorf("jobs while the GPU operator upgrades: %v", jobs)
	}
	m.changeNode("n1", func(n *corev1.Node) { n.Labels["nvidia.com/gpu-driver-upgrade-state"] = "upgrade-done" })
	m.awaitState("n1", v1alpha1.Repairing, "Repair 1 of 3: Job rankwright-")
	m.document(filepath.Join("operate", "repair.md"), "get accinv n1 -o jsonpath='{.status.repairs}'")

	job := m.awaitJob("n1")
	if got := job.Spec.Template.Spec.Containers[0].Args; job.Spec.Template.Spec.NodeName != "n1" || got[1] != "XID79" || job.Annotations[repair.AnnotationDevice] != string(operation.DeviceID(0)) {
		t.Errorf("job %+v", job)
	}
	m.restart()
	m.CompleteJob(job)
	m.awaitState("n1", v1alpha1.RepairChecking, "")
	m.restart()
	m.damage("n1", v1alpha1.Healthy)
	m.later(time.Minute, "n1")
	m.awaitState("n1", v1alpha1.RepairChecking, "")
	m.restart()
	m.later(time.Minute, "n1")
	m.awaitState("n1", v1alpha1.RepairReturned, "after repair 1")
	if jobs := m.jobs(); len(jobs) != 1 {
		t.Errorf("%d jobs, want 1", len(jobs))
	}
	if got := m.cordoned(); len(got) != 1 || got[0] != operation.DeviceID(3) {
		t.Errorf("the administrator's cordons are %v", got)
	}
	// Three devices take work again, and the administrator's does not.
	m.remove("llm")
	m.place(m.PlacementOf("all", 3, 1))
	m.awaitPlan("all", "all-1")
	m.Eventually("the record is removed", func(ctx context.Context) bool {
		var book corev1.ConfigMap
		return m.Get(ctx, client.ObjectKey{Namespace: operation.Namespace, Name: repair.Name}, &book) == nil && len(book.Data) == 0
	})
}

// Of two devices with a fault one waits for the other, checks included.
func TestBudgetOfRepairs(t *testing.T) {
	m := newMender(t, operation.RepairJob)
	nodes := []string{"n1", "n2"}
	for _, node := range nodes {
		m.addNode(node, 1)
		m.damage(node, v1alpha1.Unhealthy)
		m.awaitState(node, v1alpha1.RepairVacated, "")
	}
	m.later(time.Hour, "n1")
	job := m.awaitJob(nodes...) // of the node that was looked at first
	first, second := job.Labels["node"], nodes[0]
	if first == second {
		second = nodes[1]
	}
	m.later(time.Second, second)
	m.awaitState(second, v1alpha1.RepairVacated, "waits for other repairs: 1 may be under way at once")
	m.CompleteJob(job)
	m.awaitState(first, v1alpha1.RepairChecking, "")
	m.later(time.Second, second)
	m.awaitState(second, v1alpha1.RepairVacated, "waits for other repairs")
	if jobs := m.jobs(); len(jobs) != 1 {
		t.Errorf("%d jobs under a budget of one", len(jobs))
	}
	m.damage(first, v1alpha1.Healthy)
	m.later(5*time.Minute, first)
	m.awaitState(first, v1alpha1.RepairReturned, "")
	m.awaitJob(second)
}

// The node goes while it is repaired, and another comes under its name: the repair ends, and what it left is forgotten.
func TestRepairOutlivesItsNode(t *testing.T) {
	m := newMender(t, operation.RepairJob)
	m.addNode("n1", 4)
	m.damage("n1", v1alpha1.Unhealthy)
	m.awaitState("n1", v1alpha1.RepairVacated, "")
	m.later(time.Hour, "n1")
	job := m.awaitJob("n1")
	m.replaceNode()
	m.restart()
	m.awaitState("n1", v1alpha1.Repairing, "")
	m.CompleteJob(job)
	m.awaitState("n1", v1alpha1.RepairChecking, "")
	m.later(5*time.Minute, "n1")
	m.awaitState("n1", v1alpha1.RepairReturned, "")
}

// The operator itself may make no Job, and the account that it may ask for makes Jobs in its own namespace alone.
func TestRepairAccountIsConfined(t *testing.T) {
	m := newMender(t, operation.RepairJob)
	own, err := client.New(m.Rights(), client.Options{Scheme: m.Scheme()})
	m.Must(err)
	account, err := client.New(m.settings.Impersonate(m.Rights()), client.Options{Scheme: m.Scheme()})
	m.Must(err)
	another := *m.settings
	another.ServiceAccountName = "default"
	other, err := client.New(another.Impersonate(m.Rights()), client.Options{Scheme: m.Scheme()})
	m.Must(err)
	jobIn := func(namespace string) *batchv1.Job {
		pod := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "a", Image: "a"}}}
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "stolen"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}}}
	}
	for what, err := range map[string]error{
		"by the operator":                own.Create(t.Context(), jobIn(operation.RepairNamespace), client.DryRunAll),
		"by the account elsewhere":       account.Create(t.Context(), jobIn(testNamespace), client.DryRunAll),
		"by another account":             other.Create(t.Context(), jobIn(operation.RepairNamespace), client.DryRunAll),
		"a pod by the account":           account.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: operation.RepairNamespace, Name: "stolen"}}, client.DryRunAll),
		"reading Secrets by the account": account.List(t.Context(), &corev1.SecretList{}, client.InNamespace(operation.RepairNamespace)),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	if err := account.Create(t.Context(), jobIn(operation.RepairNamespace), client.DryRunAll); err != nil {
		t.Errorf("by the account in its namespace: %v", err)
	}
}

// A device that another DRA driver publishes is tainted by a rule: pods are evicted from it only once its ranks have left, and no longer than
// it is in repair.
func TestDevicesOfOtherDriversAreTainted(t *testing.T) {
	m := newMender(t, "taintEffect: NoExecute")
	status, node, uuids := operation.GPUs(2), "n1", []string{"GPU-0", "GPU-1"}
	for i := range status.Devices {
		status.Devices[i].Service = &v1alpha1.DeviceService{Server: v1alpha1.ServedByDRA, Resource: "gpu.example.com"}
		status.Devices[i].ClaimAttribute = &v1alpha1.ClaimAttribute{Name: "gpu.example.com/uuid", String: &uuids[i]}
	}
	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "n1-gpus"},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: "n1", ResourceSliceCount: 1},
			Devices: []resourcev1.Device{
				{Name: "gpu-b", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"uuid": {StringValue: &uuids[1]}}},
				{Name: "gpu-a", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"uuid": {StringValue: &uuids[0]}}},
			},
		},
	}
	m.Must(m.Create(t.Context(), slice))
	t.Cleanup(func() { _ = m.Delete(context.WithoutCancel(t.Context()), slice) })
	m.AddNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}, Status: operation.At("10.0.0.1")}, status)
	m.place(m.PlacementOf("llm", 1, 1))
	m.awaitPlan("llm", "llm-1")
	rules := func() []resourcev1beta2.DeviceTaintRule {
		var list resourcev1beta2.DeviceTaintRuleList
		m.Must(m.List(t.Context(), &list))
		return list.Items
	}
	awaitEffect := func(effect resourcev1beta2.DeviceTaintEffect) {
		t.Helper()
		m.Eventually("the device has a taint "+string(effect), func(context.Context) bool {
			all := rules()
			return len(all) == 1 && all[0].Spec.Taint.Effect == effect && all[0].Spec.Taint.Key == "rankwright.dev/unhealthy" && all[0].Spec.Taint.Value == "XID79" &&
				*all[0].Spec.DeviceSelector.Device == "gpu-a" && *all[0].Spec.DeviceSelector.Pool == "n1" && *all[0].Spec.DeviceSelector.Driver == "gpu.example.com"
		})
	}
	m.damage("n1", v1alpha1.Unhealthy)
	awaitEffect(resourcev1beta2.DeviceTaintEffectNoSchedule)
	m.restart()
	m.later(time.Minute, "n1")
	m.awaitPlan("llm", "llm-2")
	awaitEffect(resourcev1beta2.DeviceTaintEffectNoExecute)
	m.restart()
	m.damage("n1", v1alpha1.Healthy)
	m.awaitState("n1", v1alpha1.RepairChecking, "")
	awaitEffect(resourcev1beta2.DeviceTaintEffectNoSchedule)
	m.later(5*time.Minute, "n1")
	m.Eventually("the taint is gone", func(context.Context) bool { return len(rules()) == 0 })

	// What the operator's token may not do with rules.
	own, err := client.New(m.Rights(), client.Options{Scheme: m.Scheme()})
	m.Must(err)
	stolen := func(labels map[string]string, key string, selector *resourcev1beta2.DeviceTaintSelector) error {
		return own.Create(t.Context(), &resourcev1beta2.DeviceTaintRule{
			ObjectMeta: metav1.ObjectMeta{Name: "stolen", Labels: labels},
			Spec:       resourcev1beta2.DeviceTaintRuleSpec{DeviceSelector: selector, Taint: resourcev1beta2.DeviceTaint{Key: key, Effect: resourcev1beta2.DeviceTaintEffectNoExecute}},
		}, client.DryRunAll)
	}
	ours, one := map[string]string{repair.LabelRepair: "true"}, &resourcev1beta2.DeviceTaintSelector{Driver: &node, Pool: &node, Device: &node}
	for what, err := range map[string]error{
		"every device":  stolen(ours, "rankwright.dev/unhealthy", &resourcev1beta2.DeviceTaintSelector{}),
		"another key":   stolen(ours, "example.com/away", one),
		"without label": stolen(nil, "rankwright.dev/unhealthy", one),
	} {
		if err == nil || !strings.Contains(err.Error(), "may taint single devices") {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	m.Must(stolen(ours, "rankwright.dev/unhealthy", one))
}
