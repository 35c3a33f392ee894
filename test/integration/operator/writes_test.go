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
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
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
func (w world) counted() (made *calls.Counter, stop func()) {
	w.Helper()
	made = &calls.Counter{}
	w.Transport = made.Wrap
	return made, w.RunOperator(operator.Options{Planner: operation.FirstFit})
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
	made, stop := w.counted()
	w.placeAll("llm", count)
	stop()
	checkWrites(t, made.Calls(), count)
	if n := made.Calls()["patch configmaps"].Requests; n > count {
		t.Errorf("the ledger was written %d times for %d plans", n, count)
	}
}

// awaitSpecKept waits for the ControllerRevision of a placement that has no plan, which would keep its spec.
func (w world) awaitSpecKept(placement string) {
	w.Helper()
	w.Eventually("the spec of "+placement+" is kept", func(ctx context.Context) bool {
		var kept appsv1.ControllerRevisionList
		w.Must(w.List(ctx, &kept, client.InNamespace(testNamespace), client.MatchingLabels{v1alpha1.LabelPlacement: placement}))
		return len(kept.Items) == 1
	})
}

// TestRestartWritesNothing: an operator that starts on a cluster where all is said writes of what comes later alone.
func TestRestartWritesNothing(t *testing.T) {
	const count = 8
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2*count+2)
	_, stop := w.counted()
	w.placeAll("llm", count)
	w.place(w.PlacementOf("waits", 1024, 1))
	w.awaitReason("waits", "TooFewDevices")
	w.awaitSpecKept("waits")
	stop()
	made, stop := w.counted()
	// What an operator does at the start precedes what it says of a placement that it sees as the last one.
	later := w.PlacementOf("later", 1, 1)
	later.Spec.Suspend = true
	w.place(later)
	w.awaitReason("later", v1alpha1.ReasonSuspended)
	w.awaitSpecKept("later")
	stop()
	want := map[string]int64{"apply modelplacements/status": 1, "create controllerrevisions": 1}
	got := map[string]int64{}
	for name, n := range made.Calls().Writes() {
		if !strings.HasSuffix(name, " events") {
			got[name] = n.Requests
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes of an operator that starts and sees one new placement (-want +got):\n%s", diff)
	}
}
