// Package live runs the plugin's commands against a real API server with the real operator, its webhook and the real scheduler. Kubelets are played: what
// they would say of pods and devices is written by the test.
package live

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
)

var cluster *controlplane.ControlPlane

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplane.MainWith(m, controlplane.Options{Scheduler: true}, &cluster)
}

// home is the namespace of the placements.
const home = "team-a"

// world is the cluster that the commands look at.
type world struct {
	*operation.World
	// kubeconfig is the administrator's, kubeconfigs the folder of those of others.
	kubeconfig, kubeconfigs string
}

// hosts are recorded hosts by the names of their nodes.
var hosts = map[string]string{"h100-0": "nvidia-h100-8", "l40s-0": "nvidia-l40s-4", "mi300x-0": "amd-mi300x-8"}

// newWorld is a cluster of three nodes on which the operator has placed the examples. The pod of placement single runs, somebody else's pod holds a device,
// one device is unhealthy and one cordoned.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: operation.New(t, cluster, home), kubeconfig: cluster.Kubeconfig(), kubeconfigs: t.TempDir()}
	w.Install(admissionv1.Fail)
	t.Cleanup(w.clear)
	for _, name := range []string{"h100-0", "l40s-0", "mi300x-0"} {
		w.addHost(name)
	}
	w.beat("h100-0", 97, 96, 41, 0)
	w.beat("mi300x-0", 0, 3)
	w.breakDevices()
	w.RunOperator(operator.Options{Webhook: w.Webhook()})
	w.AwaitWebhook()
	for _, example := range []string{"tensor", "single", "pipeline", "too-large"} {
		w.place(example)
	}
	w.runSingle()
	return w
}

// clear deletes what the test made.
func (w *world) clear() {
	w.Clear()
	ctx := context.WithoutCancel(w.Context())
	for _, kind := range []client.Object{&v1alpha1.AcceleratorInventory{}, &corev1.Node{}} {
		_ = w.DeleteAllOf(ctx, kind)
	}
}

// addHost makes the node of a recorded host, as its agent would see it.
func (w *world) addHost(name string) {
	w.addRecorded(name, hosts[name], strings.TrimSuffix(name, "-0"))
}

// addRecorded makes a node of a pool from a recording.
func (w *world) addRecorded(name, recording, pool string) {
	w.Helper()
	text := w.ok("detect", "--replay", clitest.RecordingOf(w.T, recording), "-o", "yaml")
	var found v1alpha1.AcceleratorInventory
	w.Must(yaml.Unmarshal([]byte(text), &found))
	room := corev1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("512Gi"), "pods": resource.MustParse("110")}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, "pool": pool}},
		Status:     corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
	w.AddNode(node, &found.Status)
}

// breakDevices cordons a device of mi300x-0, makes one unhealthy, and gives one to a pod that belongs to no placement.
func (w *world) breakDevices() {
	w.Helper()
	inventory := w.inventory("mi300x-0")
	w.Change(inventory, func() {
		devices := inventory.Status.Devices
		inventory.Spec.CordonedDevices = []v1alpha1.DeviceID{devices[5].ID}
		devices[6].Health = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "ECCErrors", Message: "uncorrectable errors of memory: 4"}
		inventory.Status.Allocations = []v1alpha1.Allocation{{Device: devices[7].ID, Namespace: "team-b", Pod: "notebook-0", Container: "jupyter"}}
		devices[0].Memory.UsedByOthersMiB = 1024
	})
}

func (w *world) inventory(name string) *v1alpha1.AcceleratorInventory {
	w.Helper()
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(inventory), inventory))
	return inventory
}

// example reads a placement of examples/.
func (w *world) example(name string) *v1alpha1.ModelPlacement {
	w.Helper()
	objects, err := controlplane.ReadManifests(w.examples(name + ".yaml"))
	w.Must(err)
	p := &v1alpha1.ModelPlacement{}
	w.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, p))
	p.Namespace = home
	return p
}

func (w *world) examples(file string) string {
	w.Helper()
	root, err := repository.Root()
	w.Must(err)
	return filepath.Join(root, "examples", file)
}

// place makes a placement of examples/ and waits until the operator has decided.
func (w *world) place(name string) {
	w.Helper()
	p := w.example(name)
	w.Must(w.Create(w.Context(), p))
	w.Eventually("placement "+name+" is decided", func(ctx context.Context) bool {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(p), p))
		placed := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPlaced)
		return placed != nil && placed.Reason != "Planning" && (placed.Status == metav1.ConditionFalse || p.Status.Mesh != "")
	})
}

// runSingle makes the pod of placement single, and plays the kubelet that starts it.
func (w *world) runSingle() {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "single-0", Labels: map[string]string{v1alpha1.LabelPlacement: "single", binding.LabelIndex: "0"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "engine", Image: "engine"}}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
	w.Must(w.Create(w.Context(), pod))
	w.Eventually("the pod is scheduled", func(ctx context.Context) bool {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(pod), pod))
		return pod.Spec.NodeName != ""
	})
	w.Change(pod, func() {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	})
	inventory := w.inventory(pod.Spec.NodeName)
	w.Change(inventory, func() {
		inventory.Status.Allocations = append(inventory.Status.Allocations, v1alpha1.Allocation{
			Device: v1alpha1.DeviceID(pod.Annotations[v1alpha1.AnnotationDevices]), Namespace: home, Pod: pod.Name, Container: "engine",
		})
	})
	w.Eventually("placement single is ready", func(ctx context.Context) bool {
		p := w.example("single")
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(p), p))
		return p.Status.Summary.Pods == "1/1"
	})
}

// run runs the plugin on a terminal of so many columns.
func (w *world) run(columns int, kubeconfig string, args ...string) clitest.Result {
	w.Helper()
	var out, errs bytes.Buffer
	streams := term.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Width: columns, Now: clitest.Still()}
	if kubeconfig != "" {
		args = append(slices.Clone(args), "--kubeconfig", kubeconfig)
	}
	code := cli.Run(w.Context(), args, streams)
	return clitest.Result{Out: out.String(), Err: clitest.Unfolded(errs.String()), Folded: errs.String(), Code: code}
}

// ok runs a command that contacts no cluster.
func (w *world) ok(args ...string) string {
	w.Helper()
	return w.checked(w.run(0, "", args...), args)
}

// asks runs a command that asks the cluster, as its administrator.
func (w *world) asks(args ...string) string {
	w.Helper()
	return w.checked(w.run(0, w.kubeconfig, args...), args)
}

func (w *world) checked(r clitest.Result, args []string) string {
	w.Helper()
	if r.Code != term.ExitOK || r.Err != "" {
		w.Fatalf("%v: exit code %d, errors %q, output %s", args, r.Code, r.Err, r.Out)
	}
	return r.Out
}

// same fails where two texts differ.
func (w *world) same(what, want, got string) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
