package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/invariant"
	"github.com/rankwright/rankwright/test/operation"
)

// operate runs an operator without leader election until the test ends.
func (w world) operate(options operator.Options) {
	w.Helper()
	w.RunOperator(options)
}

// addNode makes a node with an inventory of so many healthy devices.
func (w world) addNode(name string, devices int) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: operation.At("10.0.0.1")}
	w.AddNode(node, operation.GPUs(devices))
}

// changeInventory changes the inventory of node n1.
func (w world) changeInventory(change func(*v1alpha1.AcceleratorInventory)) {
	w.Helper()
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	w.Change(inventory, func() { change(inventory) })
}

func (w world) place(p *v1alpha1.ModelPlacement) *v1alpha1.ModelPlacement {
	w.Helper()
	w.Must(w.Create(w.Context(), p))
	return p
}

// change edits the spec of placement llm.
func (w world) change(edit func(*v1alpha1.ModelPlacementSpec)) {
	w.Helper()
	p := w.placement("llm")
	w.Change(p, func() { edit(&p.Spec) })
}

func (w world) placement(name string) *v1alpha1.ModelPlacement {
	w.Helper()
	p := &v1alpha1.ModelPlacement{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Namespace: testNamespace, Name: name}, p))
	return p
}

// placed returns the placement's condition Placed once it speaks of the spec as it is.
func placed(p *v1alpha1.ModelPlacement) metav1.Condition { return invariant.Placed(p) }

// lacksDevices says whether a placement is told what it lacks while a plan is in force.
func lacksDevices(p *v1alpha1.ModelPlacement) bool {
	return placed(p).Status == metav1.ConditionTrue && p.Status.Shortfall != nil
}

// awaitReason waits until the placement's condition Placed has a reason, and returns the placement.
func (w world) awaitReason(name, reason string) *v1alpha1.ModelPlacement {
	w.Helper()
	var p *v1alpha1.ModelPlacement
	w.Eventually(fmt.Sprintf("placement %s is %s", name, reason), func(context.Context) bool {
		p = w.placement(name)
		return placed(p).Reason == reason
	})
	return p
}

// awaitPlan waits until the placement is placed by a plan, and returns the plan.
func (w world) awaitPlan(name, planName string) *v1alpha1.ShardingPlan {
	w.Helper()
	w.Eventually(fmt.Sprintf("placement %s is placed by %s", name, planName), func(context.Context) bool {
		p := w.placement(name)
		return placed(p).Reason == v1alpha1.ReasonPlaced && p.Status.Plan == planName
	})
	found := &v1alpha1.ShardingPlan{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Namespace: testNamespace, Name: planName}, found))
	return found
}

// awaitAnswered waits until it is known that the plan in force answers the spec of placement llm as it is.
func (w world) awaitAnswered(planName string) {
	w.Helper()
	w.Eventually("the plan answers the changed spec", func(context.Context) bool {
		p := w.placement("llm")
		return p.Status.Plan == planName && p.Status.PlanGeneration == p.Generation
	})
}

// mesh reads the mesh of placement llm.
func (w world) mesh() *v1alpha1.DeviceMesh {
	w.Helper()
	mesh := &v1alpha1.DeviceMesh{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Namespace: testNamespace, Name: "llm"}, mesh))
	return mesh
}

// remove deletes a placement and waits until its plans and mesh are gone.
func (w world) remove(name string) {
	w.Helper()
	w.Must(w.Delete(w.Context(), &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name}}))
	w.Eventually("nothing is left of "+name, func(ctx context.Context) bool { return w.children(ctx, name) == 0 })
}

func (w world) children(ctx context.Context, name string) int {
	w.Helper()
	left := 0
	for _, list := range []client.ObjectList{&v1alpha1.ShardingPlanList{}, &v1alpha1.DeviceMeshList{}} {
		w.Must(w.List(ctx, list, client.InNamespace(testNamespace), client.MatchingLabels{v1alpha1.LabelPlacement: name}))
		w.Must(apiEach(list, func(client.Object) { left++ }))
	}
	return left
}
