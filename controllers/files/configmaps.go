package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/meshes"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/launch"
)

// write applies the ConfigMaps of a mesh that are not as they should be, and deletes ConfigMaps that it no longer needs. What another
// manager holds stays, and is reported.
func (r *Reconciler) write(ctx context.Context, mesh *v1alpha1.DeviceMesh, parts []map[string]string, bundle *launch.Bundle) error {
	for i, data := range parts {
		found := &corev1.ConfigMap{}
		there, err := objects.Read(ctx, r.Reader, client.ObjectKey{Namespace: mesh.Namespace, Name: launch.ConfigMapName(mesh.Name, i)}, found)
		if err != nil {
			return err
		}
		wanted := configMap(mesh, i, data)
		if there && is(found, mesh, wanted) {
			continue
		}
		foreign, err := r.foreign(ctx, mesh, found)
		if err != nil {
			return err
		}
		if foreign {
			return r.condition().Write(ctx, mesh, metav1.ConditionFalse, "NameTaken",
				fmt.Sprintf("ConfigMap %s exists and is not this mesh's: delete or rename it.", launch.ConfigMapName(mesh.Name, i)))
		}
		err = r.Client.Apply(ctx, wanted, client.FieldOwner(fieldManager))
		if apierrors.IsConflict(err) {
			return r.condition().Write(ctx, mesh, metav1.ConditionFalse, "FilesHeld", fmt.Sprintf("Another manager holds files of ConfigMap %s: delete it, and it is written anew. %v",
				launch.ConfigMapName(mesh.Name, i), err))
		}
		if err != nil {
			return fmt.Errorf("apply ConfigMap %s: %w", launch.ConfigMapName(mesh.Name, i), err)
		}
	}
	if err := r.deleteFrom(ctx, client.ObjectKeyFromObject(mesh), len(parts)); err != nil {
		return err
	}
	text := fmt.Sprintf("ConfigMap %s starts %s by %s.", launch.ConfigMapName(mesh.Name, 0), words.Counted(len(bundle.Pods), "pod"), strings.Join(bundle.Launchers, ", "))
	if len(parts) > 1 {
		text = fmt.Sprintf("%s to %s start %s by %s.", launch.ConfigMapName(mesh.Name, 0), launch.ConfigMapName(mesh.Name, len(parts)-1),
			words.Counted(len(bundle.Pods), "pod"), strings.Join(bundle.Launchers, ", "))
	}
	for _, skipped := range bundle.Skipped {
		text += " Left out: " + skipped + "."
	}
	return r.condition().Write(ctx, mesh, metav1.ConditionTrue, "FilesWritten", text)
}

// foreign says whether somebody else has a ConfigMap, which is empty where there is none. One of an earlier mesh is deleted.
func (r *Reconciler) foreign(ctx context.Context, mesh *v1alpha1.DeviceMesh, found *corev1.ConfigMap) (bool, error) {
	owner := meshes.OwnerOf(found)
	switch {
	case found.UID == "" || metav1.IsControlledBy(found, mesh):
		return false, nil
	case owner == nil || owner.Name != mesh.Name:
		return true, nil
	default:
		return false, r.delete(ctx, found)
	}
}

// is says whether a ConfigMap of a mesh is as it would be applied. A patch that changes nothing still costs the API server as much as one
// that does, and all meshes are looked at whenever an operator starts.
func is(found *corev1.ConfigMap, mesh *v1alpha1.DeviceMesh, wanted *applycore.ConfigMapApplyConfiguration) bool {
	return metav1.IsControlledBy(found, mesh) && maps.Equal(found.Data, wanted.Data) &&
		labels.SelectorFromSet(wanted.Labels).Matches(labels.Set(found.Labels))
}

// delete deletes a ConfigMap unless it was made anew under its name.
func (r *Reconciler) delete(ctx context.Context, found metav1.Object) error {
	return objects.Delete(ctx, r.Client, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: found.GetNamespace(), Name: found.GetName(), UID: found.GetUID()}})
}

// configMap returns the ConfigMap of one part of a mesh's files. The mesh owns it by UID, so that it is deleted with the mesh.
func configMap(mesh *v1alpha1.DeviceMesh, part int, data map[string]string) *applycore.ConfigMapApplyConfiguration {
	owner := meshes.Owner(mesh)
	return applycore.ConfigMap(launch.ConfigMapName(mesh.Name, part), mesh.Namespace).
		WithLabels(map[string]string{v1alpha1.LabelPlacement: mesh.Spec.Placement.Name, v1alpha1.LabelPlan: mesh.Spec.Plan}).
		WithOwnerReferences(applymeta.OwnerReference().
			WithAPIVersion(owner.APIVersion).WithKind(owner.Kind).WithName(owner.Name).WithUID(owner.UID).WithController(true)).
		WithData(data)
}

// deleteFrom deletes the ConfigMaps of meshes of a name whose part, counted from 0, is not below the given one. Of a mesh that is
// gone, the cluster's garbage collector does the same where it runs.
func (r *Reconciler) deleteFrom(ctx context.Context, mesh client.ObjectKey, part int) error {
	keep := map[string]bool{}
	for i := range part {
		keep[launch.ConfigMapName(mesh.Name, i)] = true
	}
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	// A mesh has the name of its placement.
	if err := r.Client.List(ctx, &list, client.InNamespace(mesh.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: mesh.Name}); err != nil {
		return fmt.Errorf("list ConfigMaps of placement %s: %w", mesh.Name, err)
	}
	var failed []error
	for i := range list.Items {
		found := &list.Items[i]
		owner := meshes.OwnerOf(found)
		if owner != nil && owner.Name == mesh.Name && !keep[found.Name] && found.DeletionTimestamp.IsZero() {
			failed = append(failed, r.delete(ctx, found))
		}
	}
	return errors.Join(failed...)
}
