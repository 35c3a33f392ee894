// Package meshes has what the controllers share that follow meshes.
package meshes

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/internal/words"
)

// maxMessage bounds the condition's message, which people read.
const maxMessage = 2048

// Condition writes a single condition of meshes, with a field manager of its own, so that no writer takes back what another
// said.
type Condition struct {
	*Follower

	// Type of the condition.
	Type string
	// FieldManager writes this condition and nothing else of the mesh.
	FieldManager string
	// Action is what failed where the condition is False, as events name it.
	Action string
	// Said remembers what was written; nil remembers nothing.
	Said *Said
}

// Said are the conditions that were written last of meshes, which a cache may not show yet. The zero value is ready, and may be used by several at once.
type Said struct {
	versions applied.Versions
	last     objects.Memo[metav1.Condition]
}

func (s *Said) note(mesh *v1alpha1.DeviceMesh, condition *metav1.Condition, version string, now time.Time) {
	if s == nil {
		return
	}
	s.last.Set(client.ObjectKeyFromObject(mesh), *condition)
	s.versions.Note(mesh, version, now)
}

// has says whether a condition, whenever it began, was written after a mesh was as it is shown now.
func (s *Said) has(mesh *v1alpha1.DeviceMesh, condition metav1.Condition, now time.Time) bool {
	if s == nil || !s.versions.After(mesh, now) {
		return false
	}
	last := s.last.Get(client.ObjectKeyFromObject(mesh))
	condition.LastTransitionTime = last.LastTransitionTime
	return equality.Semantic.DeepEqual(last, condition)
}

// Forget forgets a mesh that is gone.
func (s *Said) Forget(key types.NamespacedName) {
	s.last.Forget(key)
	s.versions.Forget(key)
}

// Write writes the condition where it changed.
func (c *Condition) Write(ctx context.Context, mesh *v1alpha1.DeviceMesh, status metav1.ConditionStatus, reason, message string) error {
	message = words.Shorten(message, maxMessage)
	next := applied.MeshCondition(mesh, metav1.Condition{Type: c.Type, Status: status, Reason: reason, Message: message}, c.Now())
	if current := meta.FindStatusCondition(mesh.Status.Conditions, c.Type); current != nil && equality.Semantic.DeepEqual(*current, next) {
		return nil
	}
	if c.Said.has(mesh, next, c.Now()) {
		return nil
	}
	if status == metav1.ConditionFalse {
		c.Events.Eventf(mesh, nil, corev1.EventTypeWarning, reason, c.Action, "%s", message)
	}
	version, err := applied.MeshStatus(ctx, c.Client, mesh, &v1alpha1.DeviceMeshStatus{Conditions: []metav1.Condition{next}}, c.FieldManager)
	if err == nil {
		c.Said.note(mesh, &next, version, c.Now())
	}
	return err
}

// Remove takes the condition away.
func (c *Condition) Remove(ctx context.Context, mesh *v1alpha1.DeviceMesh) error {
	if meta.FindStatusCondition(mesh.Status.Conditions, c.Type) == nil {
		return nil
	}
	_, err := applied.MeshStatus(ctx, c.Client, mesh, &v1alpha1.DeviceMeshStatus{}, c.FieldManager)
	return err
}
