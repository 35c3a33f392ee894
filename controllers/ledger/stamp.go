package ledger

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// stampKey is a random text that every write of the ledger changes. After etcd was restored from a snapshot it counts on from there, so that
// a resourceVersion may come again, for another record.
const stampKey = "stamp"

func stamped(data map[string]string) map[string]string {
	data[stampKey] = rand.Text()
	return data
}

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// replace writes what the ledger says, where that is what was read: of the same resourceVersion and stamp. It returns a conflict where it is not.
func (l *Ledger) replace(ctx context.Context, read *corev1.ConfigMap, data map[string]string) (*corev1.ConfigMap, error) {
	owner := client.FieldOwner(v1alpha1.OperatorFieldManager)
	next, stamp := read.DeepCopy(), read.Data[stampKey]
	if stamp == "" { // emptied, or of an operator that wrote none
		next.Data = stamped(data)
		return next, l.Writer.Update(ctx, next, owner)
	}
	// Values of texts encode.
	patch, _ := json.Marshal([]operation{
		{"test", "/metadata/resourceVersion", read.ResourceVersion},
		{"test", "/data/" + stampKey, stamp},
		{"replace", "/data", stamped(data)},
	})
	err := l.Writer.Patch(ctx, next, client.RawPatch(types.JSONPatchType, patch), owner)
	if !apierrors.IsInvalid(err) {
		return next, err
	}
	// The API server answers the same to a test that fails and to a record that an admission policy refuses.
	now := &corev1.ConfigMap{}
	if found, failed := objects.Read(ctx, l.Reader, client.ObjectKeyFromObject(read), now); failed != nil {
		return nil, failed
	} else if !found || now.ResourceVersion != read.ResourceVersion || now.Data[stampKey] != stamp {
		return nil, apierrors.NewConflict(corev1.Resource("configmaps"), read.Name, fmt.Errorf("it is of another write: %w", err))
	}
	return nil, err
}
