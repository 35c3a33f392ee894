package meshes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
)

// maxMessage bounds the condition's message, which people read.
const maxMessage = 2048

// Condition writes a single condition of meshes, with a field manager of its own, so that no writer takes back what another
// said.
type Condition struct {
	// Client writes the status.
	Client client.StatusClient
	// Events takes an event where the condition becomes False.
	Events events.EventRecorder
	// Now is the clock of the condition.
	Now func() time.Time
	// Type of the condition.
	Type string
	// FieldManager writes this condition and nothing else of the mesh.
	FieldManager string
	// Action is what failed where the condition is False, as events name it.
	Action string
}

// Write writes the condition where it changed.
func (c *Condition) Write(ctx context.Context, mesh *v1alpha1.DeviceMesh, status metav1.ConditionStatus, reason, message string) error {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	conditions := slices.Clone(mesh.Status.Conditions)
	meta.SetStatusCondition(&conditions, metav1.Condition{
		Type: c.Type, Status: status, Reason: reason, Message: message, ObservedGeneration: mesh.Generation, LastTransitionTime: metav1.NewTime(c.Now()).Rfc3339Copy(),
	})
	next := meta.FindStatusCondition(conditions, c.Type)
	if current := meta.FindStatusCondition(mesh.Status.Conditions, c.Type); current != nil && equality.Semantic.DeepEqual(*current, *next) {
		return nil
	}
	if status == metav1.ConditionFalse {
		c.Events.Eventf(mesh, nil, corev1.EventTypeWarning, reason, c.Action, "%s", message)
	}
	return c.apply(ctx, mesh, apply.DeviceMeshStatus().WithConditions(applymeta.Condition().
		WithType(next.Type).WithStatus(next.Status).WithReason(next.Reason).WithMessage(next.Message).
		WithObservedGeneration(next.ObservedGeneration).WithLastTransitionTime(next.LastTransitionTime)))
}

// Remove takes the condition away.
func (c *Condition) Remove(ctx context.Context, mesh *v1alpha1.DeviceMesh) error {
	if meta.FindStatusCondition(mesh.Status.Conditions, c.Type) == nil {
		return nil
	}
	return c.apply(ctx, mesh, apply.DeviceMeshStatus())
}

func (c *Condition) apply(ctx context.Context, mesh *v1alpha1.DeviceMesh, status *apply.DeviceMeshStatusApplyConfiguration) error {
	patch := apply.DeviceMesh(mesh.Name, mesh.Namespace).WithUID(mesh.UID).WithStatus(status)
	err := c.Client.Status().Apply(ctx, patch, client.FieldOwner(c.FieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("apply condition %s of mesh %s: %w", c.Type, mesh.Name, err)
	}
	return nil
}
