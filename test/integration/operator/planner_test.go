package operator

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/operation"
)

// badPlans are what a planner may do for the placement of a tenant, with what the placement says of it.
var badPlans = []struct {
	name string
	// plan is called with a plan that would do.
	plan         func(ctx context.Context, good *v1alpha1.ShardingPlanSpec) (*v1alpha1.ShardingPlanSpec, error)
	reason, text string
}{
	{"panics", func(context.Context, *v1alpha1.ShardingPlanSpec) (*v1alpha1.ShardingPlanSpec, error) {
		panic("index out of range")
	}, "InternalError", "index out of range"},
	{"takes-too-long", func(ctx context.Context, _ *v1alpha1.ShardingPlanSpec) (*v1alpha1.ShardingPlanSpec, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, "PlanningTimedOut", "no answer within"},
	{"invalid", func(_ context.Context, good *v1alpha1.ShardingPlanSpec) (*v1alpha1.ShardingPlanSpec, error) {
		good.Enforcement = "Hope"
		return good, nil
	}, "PlanRefused", "spec.enforcement"},
	{"oversized", func(_ context.Context, good *v1alpha1.ShardingPlanSpec) (*v1alpha1.ShardingPlanSpec, error) {
		row := good.Nodes[0]
		row.Devices = make([]v1alpha1.DeviceID, 256)
		for i := range row.Devices {
			row.Devices[i] = v1alpha1.DeviceID(strings.Repeat("d", 64))
		}
		for range 400 {
			good.Nodes = append(good.Nodes, row)
		}
		return good, nil
	}, "PlanRefused", "create plan llm-1"},
}

// TestBadPlanIsOfOnePlacement lets the planner fail for a placement that is served first: one in another namespace is placed all the same,
// and the first one is once the planner does not fail any more, for a new spec at once.
func TestBadPlanIsOfOnePlacement(t *testing.T) {
	for _, bad := range badPlans {
		t.Run(bad.name, func(t *testing.T) {
			w := newWorld(t, wholeCluster)
			watched := w.watchInvariant()
			w.addNode("n1", 4)
			x := w.newTenant("planner-" + bad.name)
			x.place()
			early := w.place(w.PlacementOf("early-"+bad.name, 1, 1))
			w.operate(operator.Options{Planner: func(ctx context.Context, c *fleet.Cluster, r shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
				spec, err := operation.FirstFit(ctx, c, r)
				if err == nil && r.Placement.Namespace == x.name && *r.Placement.Spec.Parallelism.Tensor == 1 {
					return bad.plan(ctx, spec)
				}
				return spec, err
			}})
			x.checkBlame(bad.reason, bad.text)
			w.awaitPlan(early.Name, early.Name+"-1")
			w.checkBlameless(early)
			x.widen()
			x.Eventually("the first placement is placed as well", func(context.Context) bool { return placed(x.llm()).Reason == v1alpha1.ReasonPlaced })
			watched.check(2)
		})
	}
}

// checkBlameless says whether a placement, which is placed, was ever said to fail.
func (w world) checkBlameless(placement *v1alpha1.ModelPlacement) {
	w.Helper()
	var all eventsv1.EventList
	w.Eventually("there is an event of the placement", func(ctx context.Context) bool {
		w.Must(w.List(ctx, &all, client.InNamespace(placement.Namespace)))
		all.Items = slices.DeleteFunc(all.Items, func(e eventsv1.Event) bool { return e.Regarding.UID != placement.UID })
		return len(all.Items) > 0
	})
	for _, e := range all.Items {
		if e.Type == corev1.EventTypeWarning {
			w.Errorf("placement %s is blamed: %s, %s", placement.Name, e.Reason, e.Note)
		}
	}
}

// TestPlanStaysInForceWhilePlanningFails lets the planner fail for a new spec: the plan and the mesh that the placement has stay.
func TestPlanStaysInForceWhilePlanningFails(t *testing.T) {
	for _, bad := range badPlans {
		t.Run(bad.name, func(t *testing.T) {
			w := newWorld(t, wholeCluster)
			w.addNode("n1", 4)
			w.operate(operator.Options{Planner: func(ctx context.Context, c *fleet.Cluster, r shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
				spec, err := operation.FirstFit(ctx, c, r)
				if err == nil && *r.Placement.Spec.Parallelism.Tensor == 2 {
					return bad.plan(ctx, spec)
				}
				return spec, err
			}})
			w.place(w.PlacementOf("llm", 1, 1))
			w.awaitPlan("llm", "llm-1")
			mesh := w.mesh()
			tensor := int32(2)
			w.change(func(s *v1alpha1.ModelPlacementSpec) { s.Parallelism.Tensor = &tensor })
			failed := w.awaitReason("llm", bad.reason)
			if failed.Status.Plan != "llm-1" || failed.Status.Mesh != "llm" || w.mesh().UID != mesh.UID {
				t.Errorf("what was in force went: plan %q, mesh %q", failed.Status.Plan, failed.Status.Mesh)
			}
			w.awaitEvents(bad.reason)
		})
	}
}

// TestSuggestionsFollowTheRefusal refuses a model that is too large for the cluster: the placement says what would make it fit, also after
// the cluster has changed.
func TestSuggestionsFollowTheRefusal(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 1)
	w.operate(operator.Options{})
	large := w.PlacementOf("large", 4, 1)
	large.Spec.Parallelism = nil
	name := "Llama-3.1-405B"
	large.Spec.Model = v1alpha1.ModelSource{Name: &name}
	w.place(large)
	w.Eventually("the placement says what would make it fit", func(context.Context) bool {
		p := w.placement("large")
		message := placed(p).Message
		return p.Status.Shortfall != nil && len(p.Status.Shortfall.Suggestions) > 0 &&
			strings.Contains(message, "It would fit with "+p.Status.Shortfall.Suggestions[0].Change) && !strings.Contains(message, "being looked for")
	})
	w.addNode("n2", 1)
	w.Eventually("the new refusal has suggestions, the old or its own", func(context.Context) bool {
		p := w.placement("large")
		return p.Status.Shortfall != nil && p.Status.Shortfall.FreeDevices == 2 && len(p.Status.Shortfall.Suggestions) > 0
	})
}

// TestSuggestionsNameNoOtherNamespace refuses a placement that would fit without one of another namespace.
func TestSuggestionsNameNoOtherNamespace(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2)
	x := w.newTenant("secretive")
	w.operate(operator.Options{})
	x.place()
	x.awaitReady("llm-1")
	w.place(w.PlacementOf("wide", 2, 1))
	w.Eventually("the placement says that another one is in the way", func(context.Context) bool {
		shortfall := w.placement("wide").Status.Shortfall
		return shortfall != nil && slices.ContainsFunc(shortfall.Suggestions, func(s v1alpha1.Suggestion) bool {
			return s.Kind == "Move" && strings.Contains(s.Change, "the devices of a placement of another namespace (1 Test GPU")
		})
	})
	if said, err := json.Marshal(w.placement("wide").Status); err != nil || strings.Contains(string(said), x.name) {
		t.Errorf("the status names another namespace: %s, %v", said, err)
	}
}
