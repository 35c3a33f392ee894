package operator

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/operation"
)

const (
	// lastOfFormat1 is the last commit of this repository whose operator knows a record of one entry.
	lastOfFormat1 = "8e08152"
	// unknownFormat is what the policy says to it.
	unknownFormat = "the ledger is of format 2"
)

func says(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

// format1 is the ledger as an operator writes it that knows a record of one entry.
func format1() *corev1.ConfigMap {
	config := ledgerMap()
	config.Data = map[string]string{"record": `{"sequence":1}`}
	return config
}

// TestOlderWritesDoNotReplaceTheLedger writes as an operator does that takes the record for an empty one.
func TestOlderWritesDoNotReplaceTheLedger(t *testing.T) {
	w := newWorld(t, justLedger)
	w.Confine()
	w.begin(w.ledger(w.WithWatch))
	heal := w.poison()
	config := ledgerMap()
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(config), config))
	config.Data = format1().Data
	if err := w.Update(t.Context(), config); !says(err, unknownFormat) {
		t.Errorf("the record was replaced: %v", err)
	}
	w.checkPending()
	heal()
	w.recover(poisonedPool, "a", "x")

	w.Must(w.Delete(t.Context(), config))
	if err := w.Create(t.Context(), format1()); !says(err, unknownFormat) {
		t.Errorf("a ledger of the older format was made: %v", err)
	}
	elsewhere := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: ledger.Name}}
	w.Must(w.Create(t.Context(), elsewhere))
	w.Must(w.Delete(t.Context(), elsewhere))
}

// TestOlderOperatorReservesNothing runs the operator of the last commit that knows a record of one entry, beside a commit that is
// pending, and then this one.
func TestOlderOperatorReservesNothing(t *testing.T) {
	w := newWorld(t, wholeCluster)
	binary := w.buildOlder()
	watched := w.watchInvariant()
	kubeconfig := w.operatorKubeconfig()
	w.Confine()
	w.begin(w.ledger(w.WithWatch))
	w.poison()
	w.addNode("n1", 2)
	w.place(w.PlacementOf("llm", 1, 1))
	older := w.start(binary, kubeconfig)
	w.Eventually("the older operator has made a plan that it could not commit", func(context.Context) bool {
		for _, plan := range w.plans() {
			if plan.Spec.Placement.Name == "llm" {
				return !plan.Active()
			}
		}
		return false
	})
	// It cannot say so in a status, whose fields are others now.
	w.Eventually("the older operator logs that it was refused", func(context.Context) bool { return strings.Contains(older.said(), unknownFormat) })
	older.kill()
	w.checkPending()
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.Eventually("the placement is placed", func(context.Context) bool { return placed(w.placement("llm")).Reason == v1alpha1.ReasonPlaced })
	w.checkPending()
	watched.check(2)
}

// buildOlder builds the operator of lastOfFormat1, and skips the test where the clone does not have that commit.
func (w world) buildOlder() string {
	w.Helper()
	root, err := repository.Root()
	w.Must(err)
	dir := w.TempDir()
	source, binary := filepath.Join(dir, "source"), filepath.Join(dir, "operator")
	w.Must(os.Mkdir(source, 0o700))
	if out, err := exec.CommandContext(w.Context(), "sh", "-c", `git -C "$1" archive "$2" | tar -x -C "$3"`, "sh", root, lastOfFormat1, source).CombinedOutput(); err != nil {
		w.Skipf("the clone has no commit %s: fetch all of the history; %s", lastOfFormat1, out)
	}
	build := exec.CommandContext(w.Context(), "go", "build", "-trimpath", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", binary, "./cmd/operator") //nolint:gosec // a test's own
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		w.Fatalf("build the operator of %s: %v\n%s", lastOfFormat1, err, out)
	}
	return binary
}

// TestOlderStatusIsTakenOver: before, the conditions of pods had a field manager of their own. What it wrote does not stay.
func TestOlderStatusIsTakenOver(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2)
	stop := w.RunOperator(operator.Options{Planner: operation.FirstFit})
	w.place(w.PlacementOf("llm", 2, 1))
	w.awaitPlan("llm", "llm-1")
	stop()
	p := w.placement("llm")
	said := apply.ModelPlacementStatus().WithReplicas(3).WithReadyReplicas(3).WithConditions(applymeta.Condition().
		WithType(v1alpha1.ConditionReady).WithStatus(metav1.ConditionTrue).WithReason("Running").WithMessage("").WithObservedGeneration(p.Generation).WithLastTransitionTime(metav1.Now()))
	w.Must(w.Status().Apply(t.Context(), apply.ModelPlacement(p.Name, p.Namespace).WithStatus(said), client.FieldOwner("rankwright-readiness"), client.ForceOwnership))
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.Eventually("the status is that of a placement without pods", func(context.Context) bool {
		status := &w.placement("llm").Status
		ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
		return status.Replicas == 0 && status.ReadyReplicas == 0 && ready != nil && ready.Reason == "NoPods"
	})
}
