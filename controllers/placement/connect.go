package placement

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
	"github.com/rankwright/rankwright/controllers/course"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/meshes"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/slots"
	ranks "github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/plan"
)

// connect writes the mesh of the plan in force, and that it lost members where it did. Without a plan there is no mesh.
func (r *Reconciler) connect(ctx context.Context, p *pass) error {
	if p.plan == nil {
		return r.deleteMesh(ctx, p)
	}
	hosts, err := meshes.Hosts(ctx, r.Client, p.plan.Spec.NodeNames())
	if err != nil {
		return fmt.Errorf("nodes of plan %s: %w", p.plan.Name, err)
	}
	spec, err := ranks.FromPlan(p.plan.Name, &p.plan.Spec, hosts)
	if err != nil {
		p.report.unmeshed("MeshFailed", err.Error())
		return nil
	}
	spec.SlotPrefix = slots.Prefix(p.plan)
	current, err := r.currentMesh(ctx, r.Client, p)
	if err == nil && current != nil && !carries(current, p.plan, spec) {
		current, err = r.currentMesh(ctx, r.Reader, p) // what is written must not be older than what is there
	}
	if err != nil || current == nil {
		return err
	}
	if there := meshes.Revision(current); there > p.plan.Spec.Revision {
		return fmt.Errorf("mesh %s is of revision %d, which is after plan %s: %w", current.Name, there, p.plan.Name, ledger.ErrConflict)
	}
	began, changed := r.Now(), !carries(current, p.plan, spec)
	current.Spec = *spec
	if changed {
		var refused *objects.Refused
		if err := r.applyMesh(ctx, p, current); errors.As(objects.Refuse("MeshRefused", err), &refused) {
			p.report.unmeshed(refused.Reason, refused.Error())
			p.failed = err
			return nil
		} else if err != nil {
			return err
		}
	}
	p.mesh, p.lost = current, withRanks(p.lost, spec.Members)
	slowest, err := ranks.SlowestLinks(spec, hosts)
	if err != nil {
		return fmt.Errorf("links of mesh %s: %w", current.Name, err)
	}
	if err := r.writeMeshStatus(ctx, p, slowest); err != nil || !changed {
		return err
	}
	key, revision, now := keyOf(p.placement), p.plan.Spec.Revision, r.Now()
	r.Course.Took(p.placement, revision, course.Mesh, began, now)
	r.Course.Placed(p.placement, revision, r.asked.Get(key), now)
	r.asked.Forget(key)
	return nil
}

// carries says whether a mesh is already as a plan has it.
func carries(mesh *v1alpha1.DeviceMesh, of *v1alpha1.ShardingPlan, spec *v1alpha1.DeviceMeshSpec) bool {
	return mesh.UID != "" && equality.Semantic.DeepEqual(mesh.Spec, *spec) && meshes.Revision(mesh) == of.Spec.Revision
}

// currentMesh returns the placement's mesh, empty where there is none. It returns nil where the name is taken: an
// earlier placement's mesh is deleted, anything else is left alone.
func (r *Reconciler) currentMesh(ctx context.Context, reader client.Reader, p *pass) (*v1alpha1.DeviceMesh, error) {
	mesh := &v1alpha1.DeviceMesh{}
	found, err := objects.Read(ctx, reader, client.ObjectKeyFromObject(p.placement), mesh)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return &v1alpha1.DeviceMesh{ObjectMeta: metav1.ObjectMeta{Namespace: p.placement.Namespace, Name: p.placement.Name}}, nil
	case mesh.Spec.Placement.Is(p.placement):
		return mesh, nil
	case mesh.Labels[v1alpha1.LabelPlacement] == p.placement.Name:
		return nil, objects.Delete(ctx, r.Client, mesh)
	default:
		p.report.unmeshed("NameTaken", fmt.Sprintf("DeviceMesh %s exists and is not this placement's: delete or rename it.", mesh.Name))
		return nil, nil
	}
}

// applyMesh writes a mesh, and notes what it is then.
func (r *Reconciler) applyMesh(ctx context.Context, p *pass, mesh *v1alpha1.DeviceMesh) error {
	wanted := v1alpha1.DeviceMesh{Spec: mesh.Spec, ObjectMeta: metav1.ObjectMeta{
		Labels: plan.Labels(p.placement, p.plan.Spec.Revision), OwnerReferences: []metav1.OwnerReference{*ownerReference(p.placement)},
	}}
	patch := apply.DeviceMesh(mesh.Name, mesh.Namespace)
	if err := applied.Configure(wanted, patch); err != nil {
		return err
	}
	if mesh.UID != "" {
		patch.WithUID(mesh.UID).WithResourceVersion(mesh.ResourceVersion)
	}
	if err := r.Client.Apply(ctx, patch, client.FieldOwner(v1alpha1.OperatorFieldManager)); err != nil {
		return fmt.Errorf("apply mesh %s: %w", mesh.Name, err)
	}
	mesh.UID, mesh.Generation, mesh.ResourceVersion = ptr.Deref(patch.UID, ""), ptr.Deref(patch.Generation, 0), ptr.Deref(patch.ResourceVersion, "")
	return nil
}

func (r *Reconciler) deleteMesh(ctx context.Context, p *pass) error {
	mesh := &v1alpha1.DeviceMesh{}
	found, err := objects.Read(ctx, r.Client, client.ObjectKeyFromObject(p.placement), mesh)
	if err != nil || !found {
		return err
	}
	if !mesh.Spec.Placement.Is(p.placement) {
		return r.deleteOrphanedMesh(ctx, mesh)
	}
	return objects.Delete(ctx, r.Client, mesh)
}
