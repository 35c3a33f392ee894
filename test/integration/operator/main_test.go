// Package operator tests the operator and its ledger against a real API server.
package operator

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/controlplane"
)

const (
	operatorNamespace = "rankwright-operator"
	testNamespace     = "models"
	patience          = time.Minute
)

var cluster *controlplane.ControlPlane

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplane.Main(m, &cluster)
}

// world is the cluster as one test uses it, empty at the start.
type world struct {
	*testing.T
	client.WithWatch
}

// extent says how much of the cluster a test uses.
type extent bool

const (
	wholeCluster extent = false
	justLedger   extent = true
)

func newWorld(t *testing.T, uses extent) world {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := world{t, c}
	for _, name := range []string{operatorNamespace, testNamespace} {
		err := w.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	w.emptyLedger()
	if uses == wholeCluster {
		w.empty()
	}
	return w
}

// empty deletes everything that a test may have left.
func (w world) empty() {
	w.Helper()
	zero := client.GracePeriodSeconds(0)
	for _, kind := range []client.Object{&v1alpha1.ModelPlacement{}, &v1alpha1.ShardingPlan{}, &v1alpha1.DeviceMesh{}, &corev1.Pod{}, &corev1.ConfigMap{}} {
		w.must(w.DeleteAllOf(w.Context(), kind, client.InNamespace(testNamespace), zero))
	}
	w.must(client.IgnoreNotFound(w.Delete(w.Context(), cordonsMap())))
	for _, kind := range []client.Object{&v1alpha1.AcceleratorInventory{}, &corev1.Node{}} {
		w.must(w.DeleteAllOf(w.Context(), kind))
	}
	w.eventually("the cluster is empty", func(ctx context.Context) bool {
		left := 0
		for _, list := range []client.ObjectList{&v1alpha1.ShardingPlanList{}, &v1alpha1.ModelPlacementList{}, &corev1.NodeList{}, &corev1.PodList{}} {
			w.must(w.List(ctx, list))
			_ = apiEach(list, func(client.Object) { left++ })
		}
		return left == 0
	})
}

func (w world) emptyLedger() {
	w.Helper()
	w.must(w.DeleteAllOf(w.Context(), &v1alpha1.ShardingPlan{}, client.InNamespace(testNamespace)))
	w.must(client.IgnoreNotFound(w.Delete(w.Context(), ledgerMap())))
}

func ledgerMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: ledger.Name}}
}

func (w world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// eventually waits until something holds.
func (w world) eventually(what string, holds func(context.Context) bool) {
	w.Helper()
	const poll = 20 * time.Millisecond
	err := wait.PollUntilContextTimeout(w.Context(), poll, patience, true, func(ctx context.Context) (bool, error) { return holds(ctx), nil })
	if err != nil {
		w.Fatalf("it did not come true that %s: %v", what, err)
	}
}

// plans returns every plan.
func (w world) plans() []v1alpha1.ShardingPlan {
	w.Helper()
	var list v1alpha1.ShardingPlanList
	w.must(w.List(w.Context(), &list))
	return list.Items
}
