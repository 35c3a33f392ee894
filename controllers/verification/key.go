package verification

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/meshes"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
)

// keyType is the type of the Secrets.
const keyType = corev1.SecretType(v1alpha1.Prefix + "mesh-key")

const keyBytes = 32

// keepKey makes the Secret with a mesh's key, unless there is one. A key is made once and never read: pods mount it, and
// nobody outside of the namespace has it.
func (r *Reconciler) keepKey(ctx context.Context, mesh *v1alpha1.DeviceMesh) error {
	if r.keyIsFresh(mesh) {
		return nil
	}
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // it never fails
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: mesh.Namespace, Name: verification.SecretName(mesh.Name),
			Labels:          map[string]string{v1alpha1.LabelPlacement: mesh.Spec.Placement.Name},
			OwnerReferences: []metav1.OwnerReference{meshes.Owner(mesh)},
		},
		Type: keyType, Immutable: new(true), Data: map[string][]byte{verification.KeyFile: key},
	}
	err := r.Client.Create(ctx, secret, client.FieldOwner(fieldManager))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create secret %s: %w", secret.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keyed == nil {
		r.keyed = map[types.UID]time.Time{}
	}
	now := r.Now()
	maps.DeleteFunc(r.keyed, func(_ types.UID, at time.Time) bool { return now.Sub(at) >= keyPeriod })
	r.keyed[mesh.UID] = now
	return nil
}

func (r *Reconciler) keyIsFresh(mesh *v1alpha1.DeviceMesh) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known := r.keyed[mesh.UID]
	return known && r.Now().Sub(at) < keyPeriod
}
