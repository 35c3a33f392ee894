package resourceapi

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAs(t *testing.T) {
	object := func(devices any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": "ResourceSlice", "spec": map[string]any{"driver": "x", "devices": devices}}}
	}
	slice, err := As[Slice](object([]any{map[string]any{"name": "a", "capacity": map[string]any{"memory": map[string]any{"value": "2Gi"}}}}))
	if err != nil {
		t.Fatal(err)
	}
	if memory := slice.Spec.Devices[0].Capacity["memory"].Value; memory.Value() != 2<<30 {
		t.Errorf("%+v", slice)
	}
	if _, err := As[Slice](object(int64(7))); err == nil {
		t.Error("no error for what is no ResourceSlice")
	}
}
