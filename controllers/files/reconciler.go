// Package files writes what launchers need to start the pods of a mesh into ConfigMaps, which the pods mount.
// docs/launchers.md says what is in them.
package files

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/meshes"
	"github.com/rankwright/rankwright/pkg/launch"
)

// fieldManager is that of the ConfigMaps and of the condition. It is not the one of the mesh's other conditions, so that each
// can be applied without the other.
const fieldManager = v1alpha1.OperatorFieldManager + "-files"

// Reconciler keeps the ConfigMaps of the meshes.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Events takes the events of meshes.
	Events events.EventRecorder
	// Now is the clock of the condition.
	Now func() time.Time
}

// condition says in a mesh's status what became of its files, and by an event where they cannot be written.
func (r *Reconciler) condition() *meshes.Condition {
	return &meshes.Condition{
		Client: r.Client, Events: r.Events, Now: r.Now, Type: v1alpha1.ConditionLaunchable, FieldManager: fieldManager, Action: "WriteFiles",
	}
}

// Reconcile brings the ConfigMaps of one mesh up to date.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	mesh := &v1alpha1.DeviceMesh{}
	err := r.Client.Get(ctx, request.NamespacedName, mesh)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.deleteOrphans(ctx, request.Namespace, request.Name)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read mesh: %w", err)
	}
	if !mesh.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	placement, plan, err := meshes.Sources(ctx, r.Client, mesh)
	if err != nil || placement == nil || plan == nil {
		return ctrl.Result{}, err
	}
	bundle, err := r.bundle(ctx, mesh, plan, placement)
	var parts []map[string]string
	if err == nil {
		parts, err = bundle.ConfigMaps()
	}
	if err != nil {
		// Files of an earlier plan would start its pods in the wrong places.
		if failed := r.deleteFrom(ctx, mesh, 0); failed != nil {
			return ctrl.Result{}, failed
		}
		return ctrl.Result{}, r.condition().Write(ctx, mesh, metav1.ConditionFalse, "CannotLaunch", err.Error())
	}
	return ctrl.Result{}, r.write(ctx, mesh, parts, bundle)
}

// bundle is what the pods of a mesh need.
func (r *Reconciler) bundle(ctx context.Context, mesh *v1alpha1.DeviceMesh, plan *v1alpha1.ShardingPlan, placement *v1alpha1.ModelPlacement) (*launch.Bundle, error) {
	options, err := launch.OptionsOf(placement.Annotations)
	if err != nil {
		return nil, err
	}
	if options.NPUs, err = r.npus(ctx, mesh); err != nil {
		return nil, err
	}
	job, err := launch.NewJob(&plan.Spec, &mesh.Spec, options)
	if err != nil {
		return nil, err
	}
	bundle, err := job.Write(placement.Annotations[launch.AnnotationLauncher])
	if err != nil || !placement.Spec.Verification.Asked() {
		return bundle, err
	}
	return bundle, r.addTasks(ctx, bundle, mesh, job, placement.Spec.Verification)
}

// npus are the Ascend devices of a mesh's nodes.
func (r *Reconciler) npus(ctx context.Context, mesh *v1alpha1.DeviceMesh) (map[string]map[v1alpha1.DeviceID]launch.NPU, error) {
	all := map[string]map[v1alpha1.DeviceID]launch.NPU{}
	for i := range mesh.Spec.Members {
		m := &mesh.Spec.Members[i]
		if all[m.Node] != nil || m.Devices[0].Vendor() != "huawei" {
			continue
		}
		inventory, node := &v1alpha1.AcceleratorInventory{}, &corev1.Node{}
		for _, object := range []client.Object{inventory, node} {
			err := r.Client.Get(ctx, client.ObjectKey{Name: m.Node}, object)
			if client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("read node %s: %w", m.Node, err)
			}
		}
		npus, err := launch.NPUs(inventory, node.Annotations)
		if err != nil {
			return nil, err
		}
		all[m.Node] = npus
	}
	return all, nil
}
