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
)

const (
	// bareWriters is how many placements' objects a bare client writes at once.
	bareWriters = 16
	// bareHome is the namespace of what it writes.
	bareHome = "bare"
)

// written is what an operator wrote for a placement, and with a UID of its own what another one is made of.
type written struct {
	placement *v1alpha1.ModelPlacement
	plan      *v1alpha1.ShardingPlan
	mesh      *v1alpha1.DeviceMesh
}

// copied are the placements that were placed quietly, and what the operator wrote for them.
func (r *run) copied(ctx context.Context, count int) ([]written, error) {
	copies := make([]written, count)
	for i := range copies {
		c := written{&v1alpha1.ModelPlacement{}, &v1alpha1.ShardingPlan{}, &v1alpha1.DeviceMesh{}}
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(Placement(quiet, i)), c.placement); err != nil {
			return nil, fmt.Errorf("copy: %w", err)
		}
		if err := r.Client.Get(ctx, client.ObjectKey{Namespace: Home, Name: c.placement.Status.Plan}, c.plan); err != nil {
			return nil, fmt.Errorf("copy: %w", err)
		}
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(c.placement), c.mesh); err != nil {
			return nil, fmt.Errorf("copy: %w", err)
		}
		copies[i] = c
	}
	return copies, nil
}

// bare writes what the operator wrote for placements, one request after the other for each, without deciding or reading anything, while no operator
// runs. Then it deletes it.
func (r *run) bare(ctx context.Context) error {
	if err := r.remember(ctx); err != nil {
		return err
	}
	r.operator.End()
	if err := client.IgnoreAlreadyExists(r.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: bareHome}})); err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	placements := make([]*v1alpha1.ModelPlacement, len(r.copies))
	if err := r.Parallel(ctx, "placements made", writers, len(placements), func(ctx context.Context, i int) error {
		placements[i] = Placement(quiet, i)
		placements[i].Namespace = bareHome
		return r.Client.Create(ctx, placements[i])
	}); err != nil {
		return err
	}
	begun := r.clock()
	var mu sync.Mutex
	var moments []time.Duration
	err := r.Parallel(ctx, "placements written", bareWriters, len(r.copies), func(ctx context.Context, i int) error {
		if err := r.write(ctx, &r.copies[i], placements[i]); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		moments = append(moments, r.clock().Sub(begun))
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(moments)
	r.report.Bare = rateOf(moments)
	for _, kind := range []client.Object{&v1alpha1.ModelPlacement{}, &v1alpha1.DeviceMesh{}, &v1alpha1.ShardingPlan{}} {
		if err := r.Client.DeleteAllOf(ctx, kind, client.InNamespace(bareHome)); err != nil {
			return fmt.Errorf("tidy up: %w", err)
		}
	}
	return r.start(ctx)
}

// write writes for a placement what was written for another one: plan, its status, mesh, its status, the placement's status.
func (r *run) write(ctx context.Context, was *written, p *v1alpha1.ModelPlacement) error {
	plan := &v1alpha1.ShardingPlan{ObjectMeta: r.metadata(was.plan, p), Spec: was.plan.Spec}
	plan.Spec.Placement.UID = string(p.UID)
	mesh := &v1alpha1.DeviceMesh{ObjectMeta: r.metadata(was.mesh, p), Spec: was.mesh.Spec}
	mesh.Spec.Placement.UID = string(p.UID)
	p = p.DeepCopy()
	for _, write := range []func() error{
		func() error { return r.Client.Create(ctx, plan) },
		func() error {
			plan.Status = was.plan.Status
			return r.Client.Status().Update(ctx, plan)
		},
		func() error { return r.Client.Create(ctx, mesh) },
		func() error {
			mesh.Status = was.mesh.Status
			return r.Client.Status().Update(ctx, mesh)
		},
		func() error {
			p.Status = was.placement.Status
			return r.Client.Status().Update(ctx, p)
		},
	} {
		if err := write(); err != nil {
			return fmt.Errorf("write %s: %w", p.Name, err)
		}
	}
	return nil
}

// metadata is that of a copy which a placement owns.
func (r *run) metadata(of client.Object, p *v1alpha1.ModelPlacement) metav1.ObjectMeta {
	owners := slices.Clone(of.GetOwnerReferences())
	for i := range owners {
		owners[i].UID = p.UID
	}
	return metav1.ObjectMeta{Namespace: p.Namespace, Name: of.GetName(), Labels: of.GetLabels(), Annotations: of.GetAnnotations(), OwnerReferences: owners}
}
