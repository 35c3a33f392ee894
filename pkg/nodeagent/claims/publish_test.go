package claims

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// An API server that drops taints, as those before Kubernetes 1.36 do, is asked for them once.
func TestTaintsAreAskedForOnceWhereTheyAreDropped(t *testing.T) {
	for name, drops := range map[string]bool{"dropped": true, "taken": false} {
		t.Run(name, func(t *testing.T) {
			there := &unstructured.UnstructuredList{Object: map[string]any{"kind": "ResourceSliceList", "apiVersion": "resource.k8s.io/v1"}}
			client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resourceSlices: "ResourceSliceList"})
			client.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, &unstructured.Unstructured{Object: map[string]any{"kind": "Node", "apiVersion": "v1", "metadata": map[string]any{"name": testNode, "uid": "node-uid"}}}, nil
			})
			client.PrependReactor("list", "resourceslices", func(clienttesting.Action) (bool, runtime.Object, error) { return true, there, nil })
			writes := 0
			client.PrependReactor("patch", "resourceslices", func(action clienttesting.Action) (bool, runtime.Object, error) {
				patch, isPatch := action.(clienttesting.PatchAction)
				if !isPatch {
					t.Fatalf("%T is no patch", action)
				}
				slice := resourceSlice{}
				if err := json.Unmarshal(patch.GetPatch(), &slice); err != nil {
					t.Fatal(err)
				}
				if drops {
					slice.Spec.Devices = withoutTaints(slice.Spec.Devices)
				}
				content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&slice)
				if err != nil {
					t.Fatal(err)
				}
				answer := &unstructured.Unstructured{Object: content}
				there.Items, writes = []unstructured.Unstructured{*answer}, writes+1
				return true, answer, nil
			})
			p := &publisher{client: client, node: testNode}
			offered := devices(2)
			offered[1].Taints = []Taint{{Key: "rankwright.dev/slot-7f3a9c21-0", Effect: noSchedule}}
			for range 3 {
				if _, err := p.publish(t.Context(), offered); err != nil {
					t.Fatal(err)
				}
			}
			if writes != 1 || p.untaintable != drops {
				t.Errorf("%d writes, and taints are taken to be dropped: %t", writes, p.untaintable)
			}
		})
	}
}
