package scale

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// bareWriters is how many placements' objects a bare client writes at once.
const bareWriters = 16

// bare writes what the operator writes of placements, one request after the other for each, without deciding or reading anything. Then it
// deletes it.
func (r *run) bare(ctx context.Context) error {
	const of = "bare"
	if err := client.IgnoreAlreadyExists(r.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: of}})); err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	placements := make([]*v1alpha1.ModelPlacement, r.Bare)
	for i := range placements {
		placements[i] = Placement(loaded, i)
		placements[i].Namespace = of
	}
	if err := r.Parallel(ctx, "placements made", writers, len(placements), func(ctx context.Context, i int) error { return r.Client.Create(ctx, placements[i]) }); err != nil {
		return err
	}
	plans, meshes, err := r.planned(ctx, placements)
	if err != nil {
		return err
	}
	begun := r.clock()
	var mu sync.Mutex
	var moments []time.Duration
	err = r.Parallel(ctx, "placements written", bareWriters, len(placements), func(ctx context.Context, i int) error {
		if err := r.written(ctx, placements[i], plans[i], meshes[i]); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		moments = append(moments, r.clock().Sub(begun))
		return nil
	})
	slices.Sort(moments)
	r.report.Bare = rateOf(moments)
	if err != nil {
		return err
	}
	for _, kind := range []client.Object{&v1alpha1.ModelPlacement{}, &v1alpha1.DeviceMesh{}, &v1alpha1.ShardingPlan{}} {
		if err := r.Client.DeleteAllOf(ctx, kind, client.InNamespace(of)); err != nil {
			return fmt.Errorf("tidy up: %w", err)
		}
	}
	return nil
}

// planned are plans and meshes of placements on one imagined host.
func (r *run) planned(ctx context.Context, placements []*v1alpha1.ModelPlacement) ([]*v1alpha1.ShardingPlan, []*v1alpha1.DeviceMesh, error) {
	nodes := r.Cluster.Nodes
	cluster, hosts := fleet.NewCluster(nodes), mesh.Hosts{}
	for i := range nodes {
		hosts[nodes[i].Name] = mesh.Host{Address: nodes[i].Address, Inventory: &nodes[i].Inventory.Status}
	}
	var plans []*v1alpha1.ShardingPlan
	var meshes []*v1alpha1.DeviceMesh
	for _, p := range placements {
		of, err := model.Lookup(*p.Spec.Model.Name)
		if err != nil {
			return nil, nil, fmt.Errorf("model: %w", err)
		}
		spec, err := plan.Within(ctx, cluster, shape.Request{Placement: p, Model: of})
		if err != nil {
			return nil, nil, fmt.Errorf("plan: %w", err)
		}
		made := plan.Object(p, spec, 1)
		ranks, err := mesh.FromPlan(made.Name, &made.Spec, hosts)
		if err != nil {
			return nil, nil, fmt.Errorf("mesh: %w", err)
		}
		plans = append(plans, made)
		meshes = append(meshes, &v1alpha1.DeviceMesh{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}, Spec: *ranks})
	}
	return plans, meshes, nil
}

// written writes the objects of a placement: plan, its status, mesh, its status, the placement's status.
func (r *run) written(ctx context.Context, p *v1alpha1.ModelPlacement, made *v1alpha1.ShardingPlan, ranks *v1alpha1.DeviceMesh) error {
	active := metav1.Condition{
		Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue, Reason: "Committed", Message: "The plan is in force.", LastTransitionTime: metav1.NewTime(r.clock()),
	}
	placed := active
	placed.Type = v1alpha1.ConditionPlaced
	made.Status, ranks.Status, p.Status = v1alpha1.ShardingPlanStatus{}, v1alpha1.DeviceMeshStatus{}, v1alpha1.ModelPlacementStatus{}
	for _, write := range []func() error{
		func() error { return r.Client.Create(ctx, made) },
		func() error {
			made.Status.Conditions = []metav1.Condition{active}
			return r.Client.Status().Update(ctx, made)
		},
		func() error { return r.Client.Create(ctx, ranks) },
		func() error { return r.Client.Status().Update(ctx, ranks) },
		func() error {
			p.Status.Plan, p.Status.Mesh, p.Status.Conditions = made.Name, ranks.Name, []metav1.Condition{placed}
			return r.Client.Status().Update(ctx, p)
		},
	} {
		if err := write(); err != nil {
			return fmt.Errorf("write %s: %w", p.Name, err)
		}
	}
	return nil
}
