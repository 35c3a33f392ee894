package nodeagent

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// What the agent reads and writes. It does so without the typed clients of client-go: with them, each node would hold the
// types of every group of Kubernetes in memory, more than all of the agent.
var (
	nodes       = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	events      = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}
	leases      = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	inventories = v1alpha1.GroupVersion.WithResource("acceleratorinventories")
)

// object is an object as JSON, or a part of one.
type object = map[string]any

// manifest is what an apply says of an object.
func manifest(group schema.GroupVersion, kind string, metadata object) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{"apiVersion": group.String(), "kind": kind, "metadata": metadata}}
}

// nodeManifest says of a Node that it has the labels.
func nodeManifest(metadata object, labels map[string]string) *unstructured.Unstructured {
	node := manifest(nodes.GroupVersion(), "Node", metadata)
	if len(labels) > 0 {
		node.SetLabels(labels)
	}
	return node
}

func inventoryManifest(metadata object) *unstructured.Unstructured {
	return manifest(v1alpha1.GroupVersion, "AcceleratorInventory", metadata)
}

// nodeOwner makes an object go with the Node. It does not block the Node's deletion.
func nodeOwner(node *metav1.PartialObjectMetadata) []any {
	return []any{object{
		"apiVersion": nodes.GroupVersion().String(), "kind": "Node", "name": node.Name, "uid": string(node.UID),
	}}
}

// apply makes the object say what the manifest says. What another manager holds with another value is a conflict.
func apply(ctx context.Context, resource dynamic.ResourceInterface, manifest *unstructured.Unstructured,
	subresources ...string,
) (*unstructured.Unstructured, error) {
	options := metav1.ApplyOptions{FieldManager: v1alpha1.NodeAgentFieldManager}
	return resource.Apply(ctx, manifest.GetName(), manifest, options, subresources...)
}

// fromObject reads an object into a typed value.
func fromObject(from *unstructured.Unstructured, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, into); err != nil {
		return fmt.Errorf("read %s %s: %w", from.GetKind(), from.GetName(), err)
	}
	return nil
}
