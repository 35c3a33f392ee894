// Package operator tests the operator and its ledger against a real API server.
package operator

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
)

// testNamespace is where all tests make their placements.
const testNamespace = "models"

var cluster *controlplane.ControlPlane

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplane.MainWith(m, controlplane.Options{FeatureGates: map[string]bool{"DRADeviceTaintRules": true}, APIs: []string{"resource.k8s.io/v1beta2"}}, &cluster)
}

// world is the cluster as one test uses it, empty at the start.
type world struct{ *operation.World }

// extent says how much of the cluster a test uses.
type extent bool

const (
	wholeCluster extent = false
	justLedger   extent = true
)

func newWorld(t *testing.T, uses extent) world {
	t.Helper()
	w := world{operation.New(t, cluster, testNamespace)}
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
	for _, kind := range []client.Object{&v1alpha1.ModelPlacement{}, &v1alpha1.ShardingPlan{}, &v1alpha1.DeviceMesh{}, &corev1.Pod{}, &corev1.ConfigMap{}, &appsv1.ControllerRevision{}} {
		w.Must(w.DeleteAllOf(w.Context(), kind, client.InNamespace(testNamespace), zero))
	}
	w.Must(client.IgnoreNotFound(w.Delete(w.Context(), cordonsMap())))
	for _, kind := range []client.Object{&v1alpha1.AcceleratorInventory{}, &v1alpha1.SiteCalibration{}, &corev1.Node{}} {
		w.Must(w.DeleteAllOf(w.Context(), kind))
	}
	w.Eventually("the cluster is empty", func(ctx context.Context) bool {
		left := 0
		for _, list := range []client.ObjectList{&v1alpha1.ShardingPlanList{}, &v1alpha1.ModelPlacementList{}, &corev1.NodeList{}, &corev1.PodList{}} {
			w.Must(w.List(ctx, list))
			_ = apiEach(list, func(client.Object) { left++ })
		}
		return left == 0
	})
}

func (w world) emptyLedger() {
	w.Helper()
	w.Must(w.DeleteAllOf(w.Context(), &v1alpha1.ShardingPlan{}, client.InNamespace(testNamespace)))
	w.Must(client.IgnoreNotFound(w.Delete(w.Context(), ledgerMap())))
}

func ledgerMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operation.Namespace, Name: ledger.Name}}
}

// plans returns every plan.
func (w world) plans() []v1alpha1.ShardingPlan {
	w.Helper()
	var list v1alpha1.ShardingPlanList
	w.Must(w.List(w.Context(), &list))
	return list.Items
}
