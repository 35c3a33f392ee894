package resourceapi

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Slices and Claims are the resources of both kinds.
var (
	Slices = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"}
	Claims = Slices.GroupVersion().WithResource("resourceclaims")
)

// As reads an object into a typed value.
func As[T any](object *unstructured.Unstructured) (*T, error) {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return typed, nil
}

// ListSlices returns the ResourceSlices of a node, of every driver where driver is empty.
func ListSlices(ctx context.Context, c dynamic.Interface, node, driver string) ([]Slice, error) {
	selector := fields.Set{"spec.nodeName": node}
	if driver != "" {
		selector["spec.driver"] = driver
	}
	list, err := c.Resource(Slices).List(ctx, metav1.ListOptions{FieldSelector: selector.String()})
	if err != nil {
		return nil, fmt.Errorf("list ResourceSlices of Node %s: %w", node, err)
	}
	all := make([]Slice, len(list.Items))
	for i := range list.Items {
		slice, err := As[Slice](&list.Items[i])
		if err != nil {
			return nil, err
		}
		all[i] = *slice
	}
	return all, nil
}

// FindClaim returns a claim, nil where there is none.
func FindClaim(ctx context.Context, c dynamic.Interface, namespace, name string) (*Claim, error) {
	read, err := c.Resource(Claims).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("claim %s/%s: %w", namespace, name, err)
	}
	return As[Claim](read)
}
