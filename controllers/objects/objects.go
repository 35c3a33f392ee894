// Package objects reads objects that may not be there, and deletes objects as they were seen.
package objects

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Read reads an object, and says whether it exists.
func Read(ctx context.Context, reader client.Reader, key client.ObjectKey, into client.Object) (found bool, err error) {
	err = reader.Get(ctx, key, into)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read %T %s: %w", into, key, err)
	}
	return err == nil, nil
}

// Delete deletes an object that was read, and in the background what it owns. An object that is gone is no error. One that was made anew under its
// name is a conflict, which the API server may answer for other reasons too: then the object is still there, and is to be read again.
func Delete(ctx context.Context, writer client.Writer, object client.Object) error {
	uid := object.GetUID()
	return deleteIf(ctx, writer, object, client.Preconditions{UID: &uid})
}

// DeleteUnchanged deletes an object as Delete does, unless anything of it changed since it was read, which is a conflict.
func DeleteUnchanged(ctx context.Context, writer client.Writer, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return deleteIf(ctx, writer, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
}

func deleteIf(ctx context.Context, writer client.Writer, object client.Object, conditions client.Preconditions) error {
	err := writer.Delete(ctx, object, conditions, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) == nil {
		return nil
	}
	return fmt.Errorf("delete %T %s: %w", object, client.ObjectKeyFromObject(object), err)
}
