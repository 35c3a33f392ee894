package operator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/controllers/placement"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/calls"
	"github.com/rankwright/rankwright/test/operation"
)

// writesOf are the writes of one placement that is placed at once.
var writesOf = map[string]int64{
	"create shardingplans":         1,
	"apply shardingplans/status":   1,
	"apply devicemeshes":           1,
	"apply devicemeshes/status":    1,
	"apply modelplacements/status": 1,
}

// writesOfFirstPod are those when it gets its first pod: its files, that they are written, and how far the pod is.
var writesOfFirstPod = map[string]int64{
	"apply configmaps":             1,
	"apply devicemeshes/status":    1,
	"apply modelplacements/status": 1,
}

// ledgerWrites are the writes of the ledger, each for all plans of a round.
var ledgerWrites = []string{"create configmaps", "update configmaps", "patch configmaps"}

// counted runs an operator whose requests are counted, until it is stopped.
func (w world) counted(planner placement.Planner) (made *calls.Counter, stop func()) {
	w.Helper()
	made = &calls.Counter{}
	w.Transport = made.Wrap
	return made, w.RunOperator(operator.Options{Planner: planner})
}

// placeAll places models of two devices each, the last of which gets a pod when all are placed. What is said of that comes after all that
// is to be said of the others.
func (w world) placeAll(prefix string, count int) {
	w.Helper()
	name := func(i int) string { return fmt.Sprint(prefix, i) }
	for i := range count {
		w.place(w.PlacementOf(name(i), 2, 1))
	}
	for i := range count {
		w.awaitPlan(name(i), name(i)+"-1")
	}
	w.read(name(count - 1))
	w.Eventually("it is said of the pod that nobody bound it, and where its files are", func(ctx context.Context) bool {
		mesh := &v1alpha1.DeviceMesh{}
		w.Must(w.Get(ctx, client.ObjectKey{Namespace: testNamespace, Name: name(count - 1)}, mesh))
		ready := meta.FindStatusCondition(w.placement(name(count-1)).Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Reason == "PodsUnbound" && meta.IsStatusConditionTrue(mesh.Status.Conditions, v1alpha1.ConditionLaunchable)
	})
}

// checkWrites holds the writes of an operator, events and the ledger apart, to those of so many placements of which one got a pod.
func checkWrites(t *testing.T, made calls.Calls, placements int64) {
	t.Helper()
	want, got := maps.Clone(writesOfFirstPod), map[string]int64{}
	for name, n := range writesOf {
		want[name] += n * placements
	}
	for name, n := range made.Writes() {
		if !slices.Contains(ledgerWrites, name) && !strings.HasSuffix(name, " events") {
			got[name] = n.Requests
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes of %d placements (-want +got):\n%s", placements, diff)
	}
}

// TestWritesOfAPlacement holds what the operator writes of placements to the tables above.
func TestWritesOfAPlacement(t *testing.T) {
	const count = 16
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2*count)
	made, stop := w.counted(operation.FirstFit)
	w.placeAll("llm", count)
	stop()
	checkWrites(t, made.Calls(), count)
	if n := made.Calls()["patch configmaps"].Requests; n > count {
		t.Errorf("the ledger was written %d times for %d plans", n, count)
	}
}

// TestRefusalsListNoRevisions: a placement that never had another spec has no revision that could be missed.
func TestRefusalsListNoRevisions(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2)
	made, stop := w.counted(operation.FirstFit)
	for _, name := range []string{"one", "two"} {
		w.place(w.PlacementOf(name, 4, 1))
		w.awaitSpecKept(name)
	}
	stop()
	if lists := made.Calls()["list controllerrevisions"].Requests; lists > 0 {
		t.Errorf("revisions were listed %d times", lists)
	}
}

// awaitSpecKept waits for the ControllerRevision of a placement that has no plan, which would keep its spec.
func (w world) awaitSpecKept(name string) {
	w.Helper()
	w.Eventually("the spec of "+name+" is kept", func(ctx context.Context) bool {
		var kept appsv1.ControllerRevisionList
		w.Must(w.List(ctx, &kept, client.InNamespace(testNamespace), client.MatchingLabels{v1alpha1.LabelPlacement: name}))
		return len(kept.Items) == 1
	})
}

// fullNode makes a node whose only device is of a product of its own and is cordoned.
func (w world) fullNode() {
	w.Helper()
	status := operation.GPUs(1)
	status.Devices[0].Product = "Full GPU"
	w.AddNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "full"}, Status: operation.At("10.0.0.2")}, status)
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: "full"}}
	w.Change(inventory, func() { inventory.Spec.CordonedDevices = []v1alpha1.DeviceID{operation.DeviceID(0)} })
}

// refused are placements that get no plan, by why. What would help some of them is looked for, which of the largest takes longest.
var refused = map[string]func(*v1alpha1.ModelPlacementSpec){
	"NoneFree": func(s *v1alpha1.ModelPlacementSpec) {
		s.Devices = &v1alpha1.DeviceRequirements{Products: []string{"Full GPU"}}
	},
	"TooFewDevices": func(s *v1alpha1.ModelPlacementSpec) { s.Replicas = new(int32(512)) },
	"TooLarge": func(s *v1alpha1.ModelPlacementSpec) {
		s.Model, s.Parallelism = v1alpha1.ModelSource{Name: new("Llama-3.1-405B")}, nil
		s.Engine = v1alpha1.EngineTensorRTLLM // which takes of a device what others leave
	},
	"Limit":         func(s *v1alpha1.ModelPlacementSpec) { s.Workload.Inference.MaxTPOTMillis = new(int32(1)) },
	"ModelNotFound": func(s *v1alpha1.ModelPlacementSpec) { s.Model = v1alpha1.ModelSource{Name: new("nobody-knows-it")} },
	"ConfigMapNotFound": func(s *v1alpha1.ModelPlacementSpec) {
		s.Model = v1alpha1.ModelSource{ConfigMap: &v1alpha1.ConfigMapKey{Name: "none", Key: "none"}}
	},
	"Suspended": func(s *v1alpha1.ModelPlacementSpec) { s.Suspend = true },
}

// refuseAll has each of them refused, and waits until all is said of it.
func (w world) refuseAll() {
	w.Helper()
	for reason, change := range refused {
		p := w.PlacementOf(strings.ToLower(reason), 1, 1)
		change(&p.Spec)
		w.place(p)
	}
	for reason := range refused {
		w.awaitSaid(strings.ToLower(reason), reason)
	}
}

// awaitSaid waits until all is said of a placement that gets no plan, and its spec is kept.
func (w world) awaitSaid(name, reason string) {
	w.Helper()
	w.awaitReason(name, reason)
	w.awaitSpecKept(name)
	w.Eventually("nothing is looked for any more for "+name, func(context.Context) bool {
		return !strings.Contains(placed(w.placement(name)).Message, "being looked for")
	})
}

// useMemory has a process outside any pod use memory of a device of node n1.
func (w world) useMemory(device int, mib int64) {
	w.Helper()
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) { i.Status.Devices[device].Memory.UsedByOthersMiB = mib })
}

// versions are the resourceVersions of the placements, by name.
func (w world) versions() map[string]string {
	w.Helper()
	var all v1alpha1.ModelPlacementList
	w.Must(w.List(w.Context(), &all))
	versions := map[string]string{}
	for i := range all.Items {
		versions[all.Items[i].Name] = all.Items[i].ResourceVersion
	}
	return versions
}

// byName is the product's planner, but that placements whose names begin so get the first devices that are free.
func byName(ctx context.Context, c *fleet.Cluster, r shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
	if strings.HasPrefix(r.Placement.Name, "llm") {
		return operation.FirstFit(ctx, c, r)
	}
	return operation.Unhurried(ctx, c, r)
}

// TestRestartWritesNothing: an operator that starts on a cluster where all is said writes of what comes later alone.
func TestRestartWritesNothing(t *testing.T) {
	const count = 8
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2*count+2)
	w.fullNode()
	w.useMemory(2*count, 2_000)
	_, stop := w.counted(byName)
	w.placeAll("llm", count)
	w.refuseAll()
	stop()
	w.useMemory(2*count, 2_001)
	before := w.versions()
	made, stop := w.counted(byName)
	// What an operator does at the start precedes what it says of a placement that it sees as the last one, and of what helps that.
	w.place(w.PlacementOf("later", 1, 512))
	w.awaitSaid("later", "TooFewDevices")
	stop()
	after := w.versions()
	delete(after, "later")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("placements of before were written (-before +after):\n%s", diff)
	}
	want, got := map[string]int64{"create controllerrevisions": 1}, map[string]int64{}
	for name, n := range made.Calls().Writes() {
		// Of what came later it is said that the devices do not suffice, and then what would help, or both at once.
		const most = 2
		if !strings.HasSuffix(name, " events") && (name != "apply modelplacements/status" || n.Requests > most) {
			got[name] = n.Requests
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes of an operator that starts and sees one new placement (-want +got):\n%s", diff)
	}
}
