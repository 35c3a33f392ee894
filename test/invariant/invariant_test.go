package invariant

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/operation"
)

// state is a cluster of one node with two devices, which placement has holds, so that placement wants waits.
type state struct {
	has, wants *v1alpha1.ModelPlacement
	plan       *v1alpha1.ShardingPlan
	mesh       *v1alpha1.DeviceMesh
	more       []client.Object
	alone      bool // placement wants is all that was ever asked for
}

func settled() *state {
	s := &state{has: placementOf("has", 2, v1alpha1.ReasonPlaced), wants: placementOf("wants", 1, shape.ReasonNoneFree)}
	s.has.Status.Plan, s.has.Status.PlannedReplicas = "has-1", 1
	s.plan = planOf("has", "has-1", 0, 1)
	s.mesh = meshOf("has", "has-1")
	return s
}

func placementOf(name string, tensor int32, reason string) *v1alpha1.ModelPlacement {
	architecture := operation.SmallArchitecture()
	p := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name), Generation: 2}}
	p.Spec.Model.Architecture = &architecture
	p.Spec.Workload.Inference = &v1alpha1.InferenceWorkload{MaxModelLen: 128}
	p.Spec.Parallelism, p.Spec.Replicas = &v1alpha1.Parallelism{Tensor: &tensor}, ptr.To[int32](1)
	p.Status.ObservedGeneration = 2
	p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionPlaced, Reason: reason, ObservedGeneration: 2}}
	return p
}

func planOf(uid, name string, devices ...int) *v1alpha1.ShardingPlan {
	plan := &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name)}}
	plan.Spec = *operation.TensorPlan(uid, 1, len(devices))
	plan.Spec.Placement.UID = uid
	row := v1alpha1.PlanRow{Node: "n"}
	for _, i := range devices {
		row.Devices = append(row.Devices, operation.DeviceID(i))
	}
	plan.Spec.Nodes = []v1alpha1.PlanRow{row}
	plan.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue}}
	return plan
}

func meshOf(uid, plan string) *v1alpha1.DeviceMesh {
	return &v1alpha1.DeviceMesh{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: uid},
		Spec:       v1alpha1.DeviceMeshSpec{Placement: v1alpha1.PlacementRef{Name: uid, UID: uid}, Plan: plan},
	}
}

func (s *state) reader(t *testing.T) client.WithWatch {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: *operation.GPUs(2)}
	objects := append([]client.Object{node, inventory, s.wants}, s.more...)
	if !s.alone {
		objects = append(objects, s.has, s.plan, s.mesh)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// TestUnsettled spoils a cluster that is settled in every way that is looked for.
func TestUnsettled(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*state)
		says  string
	}{
		"nothing":                 {func(*state) {}, ""},
		"scaled to zero":          {func(s *state) { s.alone, s.wants.Spec.Replicas = true, ptr.To[int32](0) }, ""},
		"a plan of nobody":        {func(s *state) { s.more = []client.Object{planOf("gone", "gone-1")} }, "plan gone-1 is left behind"},
		"an earlier plan":         {func(s *state) { s.more = []client.Object{planOf("has", "has-0")} }, "plan has-0 is left behind"},
		"a plan out of force":     {func(s *state) { s.plan.Status.Conditions[0].Status = metav1.ConditionFalse }, "plan has-1 is left behind"},
		"a mesh of nobody":        {func(s *state) { s.more = []client.Object{meshOf("gone", "gone-1")} }, "mesh gone is left behind"},
		"a mesh of another plan":  {func(s *state) { s.mesh.Spec.Plan = "has-0" }, "mesh has is left behind"},
		"a spec nobody looked at": {func(s *state) { s.wants.Generation = 3 }, "wants was not seen"},
		"a status of before":      {func(s *state) { s.wants.Status.ObservedGeneration = 1 }, "wants was not seen"},
		"a condition of before":   {func(s *state) { s.wants.Status.Conditions[0].ObservedGeneration = 1 }, "wants was not seen"},
		"a copy too few":          {func(s *state) { s.has.Spec.Replicas = ptr.To[int32](2) }, "has has 1 copies of 2"},
		"a device that is free":   {func(s *state) { s.plan.Spec.Nodes[0].Devices = s.plan.Spec.Nodes[0].Devices[:1] }, "wants fits and is not placed: NoneFree"},
		"all devices free":        {func(s *state) { s.alone = true }, "wants fits and is not placed: NoneFree"},
		"what its own plan has":   {func(s *state) { s.has.Status.Conditions[0].Reason = shape.ReasonNoneFree }, "has fits and is not placed: NoneFree"},
	} {
		t.Run(name, func(t *testing.T) {
			s := settled()
			c.spoil(s)
			said, err := Unsettled(t.Context(), s.reader(t))
			if err != nil || said != c.says {
				t.Errorf("it says %q, %v, want %q", said, err, c.says)
			}
		})
	}
}

// What cannot be read is not taken for settled.
func TestUnsettledReadsEverything(t *testing.T) {
	for _, of := range []client.ObjectList{
		&v1alpha1.ModelPlacementList{}, &v1alpha1.ShardingPlanList{}, &v1alpha1.DeviceMeshList{}, &v1alpha1.AcceleratorInventoryList{}, &corev1.NodeList{}, &corev1.PodList{},
	} {
		kind := fmt.Sprintf("%T", of)
		reader := interceptor.NewClient(settled().reader(t), interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				if fmt.Sprintf("%T", list) == kind {
					return errors.New("the API server is away")
				}
				return c.List(ctx, list, options...)
			},
		})
		if said, err := Unsettled(t.Context(), reader); err == nil {
			t.Errorf("without %s it says %q", kind, said)
		}
	}
}
