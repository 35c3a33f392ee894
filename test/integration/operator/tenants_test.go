package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/controllers/placement"
	"github.com/rankwright/rankwright/test/operation"
)

// tenants gives namespace models three devices and a class, unless it has the label exempt.
func (w world) tenants() placement.Tenants {
	w.Helper()
	tenants, err := placement.ParseTenants([]byte(`
- namespaceSelector: {matchExpressions: [{key: exempt, operator: Exists}]}
- namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ` + testNamespace + `}}
  devices: 3
  priorityClasses: [modest]
`))
	w.Must(err)
	return tenants
}

// exempt sets the label exempt of namespace models, or removes it.
func (w world) exempt(value string) {
	w.Helper()
	namespace := &corev1.Namespace{}
	namespace.Name = testNamespace
	w.Must(w.Patch(context.WithoutCancel(w.Context()), namespace, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"exempt":`+value+`}}}`))))
}

// TestNamespaceTakesNoMoreThanItsQuota has two operators that do not elect a leader, and more placements at once than the quota has room for.
func TestNamespaceTakesNoMoreThanItsQuota(t *testing.T) {
	const quota, asked = 3, 6
	w := newWorld(t, wholeCluster)
	w.addNode("n1", asked)
	w.Cleanup(func() { w.exempt("null") })
	watched := w.watchInvariant()
	for i := range asked {
		w.place(w.PlacementOf(fmt.Sprint("p", i), 1, 1))
	}
	for range 2 {
		w.operate(operator.Options{Planner: operation.FirstFit, Tenants: w.tenants()})
	}
	held := func() int {
		devices := 0
		for _, plan := range w.plans() {
			if plan.Active() {
				devices += len(devicesOf(&plan))
			}
		}
		return devices
	}
	saying := func(reason string) int {
		count := 0
		for i := range asked {
			if placed(w.placement(fmt.Sprint("p", i))).Reason == reason {
				count++
			}
		}
		return count
	}
	w.Eventually("all that do not fit the quota say so", func(context.Context) bool {
		if got := held(); got > quota {
			t.Fatalf("the plans of the namespace hold %d devices, and it may have %d", got, quota)
		}
		return saying(placement.ReasonQuota) == asked-quota && held() == quota
	})
	w.exempt(`"true"`)
	w.Eventually("whoever waited is placed when the quota is gone", func(context.Context) bool { return held() == asked && saying(placement.ReasonQuota) == 0 })
	watched.check(asked)
}

func TestNamespaceUsesItsPriorityClasses(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 3)
	w.addClass("modest", 1)
	w.addClass("grand", 1000)
	w.operate(operator.Options{Planner: operation.FirstFit, Tenants: w.tenants()})
	for name, class := range map[string]string{"llm": "grand", "modest": "modest", "plain": ""} {
		p := w.PlacementOf(name, 1, 1)
		p.Spec.PriorityClassName = class
		w.place(p)
	}
	w.awaitPlan("modest", "modest-1")
	w.awaitPlan("plain", "plain-1")
	w.awaitReason("llm", placement.ReasonPriorityClass)
	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.PriorityClassName = "" })
	w.awaitPlan("llm", "llm-1")
}

// TestNothingSaysWhoElseIsThere has placements that are refused for every kind of reason while another namespace holds devices, and looks
// for its name in all that a tenant may read.
func TestNothingSaysWhoElseIsThere(t *testing.T) {
	const other = "confidential"
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 3)
	x := w.newTenant(other)
	w.operate(operator.Options{Tenants: w.tenants()})
	x.place()
	x.awaitReady("llm-1")
	w.place(w.PlacementOf("llm", 1, 1))
	w.awaitPlan("llm", "llm-1")
	refusals := map[string]struct {
		reason string
		edit   func(*v1alpha1.ModelPlacementSpec)
	}{
		"wide":  {"", func(s *v1alpha1.ModelPlacementSpec) { s.Parallelism.Tensor = new(int32(3)) }},
		"class": {placement.ReasonPriorityClass, func(s *v1alpha1.ModelPlacementSpec) { s.PriorityClassName = firstClass }},
		"vendor": {"", func(s *v1alpha1.ModelPlacementSpec) {
			s.Devices = &v1alpha1.DeviceRequirements{Vendors: []string{"amd"}}
		}},
		"unknown": {"ModelNotFound", func(s *v1alpha1.ModelPlacementSpec) { s.Model = v1alpha1.ModelSource{Name: new("No-Such-Model")} }},
	}
	for name, refusal := range refusals {
		p := w.PlacementOf(name, 1, 1)
		refusal.edit(&p.Spec)
		w.place(p)
	}
	for name, refusal := range refusals {
		w.Eventually(name+" is refused as "+refusal.reason, func(context.Context) bool {
			p := w.placement(name)
			planned := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPlaced)
			return planned != nil && planned.Status == metav1.ConditionFalse && strings.Contains(planned.Reason, refusal.reason) && !strings.Contains(planned.Message, "being looked for")
		})
	}
	for _, list := range []client.ObjectList{&v1alpha1.ModelPlacementList{}, &v1alpha1.ShardingPlanList{}, &v1alpha1.DeviceMeshList{}, &corev1.ConfigMapList{}, &eventsv1.EventList{}} {
		w.Must(w.List(t.Context(), list, client.InNamespace(testNamespace)))
		text, err := json.Marshal(list)
		w.Must(err)
		if at := bytes.Index(text, []byte(other)); at >= 0 {
			t.Errorf("%T names another namespace: …%s", list, text[max(0, at-200):min(len(text), at+100)])
		}
	}
}
