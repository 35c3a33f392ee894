// Package cleanup removes from a cluster what the product leaves there when its own objects are deleted: labels and conditions of Nodes,
// inventories, heartbeats, ResourceSlices, and the operator's records. Models, plans and meshes are their users' and stay.
package cleanup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/await"
)

var (
	nodes      = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	leases     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	// ResourceSlices would stay until their Node goes where no kubelet is left to delete them.
	resourceSlices = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"}
	inventories    = v1alpha1.GroupVersion.WithResource("acceleratorinventories")
)

const (
	// pageSize is how many Nodes are read at once: a Node may have tens of kilobytes.
	pageSize = 100
	// again is the time between two looks: an agent that ends just now may have written a last time.
	again = 2 * time.Second
)

// Options say where to look. There are no defaults.
type Options struct {
	// AgentNamespace is where the agents' heartbeats are, OperatorNamespace where the operator's records are.
	AgentNamespace, OperatorNamespace string
	// Log receives what is removed.
	Log *slog.Logger
	// Clock paces the looks.
	Clock clock.Clock
}

// Run removes what is left and returns when a look finds nothing more, or with the error of the last look when the context
// ends. It may be called again, on a cluster of which nothing was ever installed as well.
func Run(ctx context.Context, c dynamic.Interface, options Options) error {
	for {
		removed, err := look(ctx, c, options)
		if err == nil && removed == 0 {
			return nil
		}
		options.Log.Info("removed", "objects", removed, "error", err)
		if !await.Pause(ctx, options.Clock, again, nil) {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// look removes what it sees, and says how many objects these were.
func look(ctx context.Context, c dynamic.Interface, options Options) (removed int, err error) {
	heartbeats := c.Resource(leases).Namespace(options.AgentNamespace)
	sweeps := []sweep{
		{c.Resource(nodes), nodeHasOurs, clearNode},
		{c.Resource(inventories), everything, deleteObject},
		{heartbeats, agentHolds, deleteObject},
		{c.Resource(resourceSlices), ofOurDriver, deleteObject},
	}
	var errs []error
	for _, s := range sweeps {
		n, err := s.run(ctx)
		removed, errs = removed+n, append(errs, err)
	}
	for _, record := range records {
		err := c.Resource(record.kind).Namespace(options.OperatorNamespace).Delete(ctx, record.name, metav1.DeleteOptions{})
		switch {
		case err == nil:
			removed++
		case !gone(err):
			errs = append(errs, fmt.Errorf("delete %s %s/%s: %w", record.kind.Resource, options.OperatorNamespace, record.name, err))
		}
	}
	return removed, errors.Join(errs...)
}

// ElectionName is the name of the Lease of the operator's election, as the operator's package has it, which this one does not
// import.
const ElectionName = "rankwright-operator"

// records are what an operator writes in its namespace: its ledger, the cordons it keeps, and the Lease of its election.
var records = []struct {
	kind schema.GroupVersionResource
	name string
}{
	{configMaps, "rankwright-ledger"}, {configMaps, "rankwright-cordons"}, {leases, ElectionName},
}

// sweep removes what is ours of one kind.
type sweep struct {
	resource dynamic.ResourceInterface
	ours     func(*unstructured.Unstructured) bool
	remove   func(context.Context, dynamic.ResourceInterface, *unstructured.Unstructured) error
}

// run says how many objects were removed. A kind or a namespace that does not exist has none.
func (s sweep) run(ctx context.Context) (removed int, err error) {
	var errs []error
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := s.resource.List(ctx, options)
		if gone(err) {
			return removed, errors.Join(errs...)
		}
		if err != nil {
			return removed, errors.Join(append(errs, fmt.Errorf("list what is left: %w", err))...)
		}
		for i := range page.Items {
			object := &page.Items[i]
			if !s.ours(object) {
				continue
			}
			switch err := s.remove(ctx, s.resource, object); {
			case err == nil:
				removed++
			case !gone(err):
				errs = append(errs, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err))
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return removed, errors.Join(errs...)
		}
	}
}

// nodeHasOurs says whether a Node has labels or annotations that its agent holds, or its condition.
func nodeHasOurs(node *unstructured.Unstructured) bool { return agentHolds(node) || saysReady(node) }

// saysReady says whether a Node has the condition that agents write.
func saysReady(node *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(node.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == v1alpha1.NodeConditionAcceleratorsReady
	})
}

// clearNode takes from a Node the labels and annotations that the agent holds: an apply of nothing by its field manager gives up
// what it applied, and what it held alone goes. The UID goes along, so that no Node is created. The condition is not applied,
// and taken away by its type.
func clearNode(ctx context.Context, resource dynamic.ResourceInterface, node *unstructured.Unstructured) error {
	nothing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": node.GetName(), "uid": string(node.GetUID())},
	}}
	if agentHolds(node) {
		if _, err := resource.Apply(ctx, node.GetName(), nothing, metav1.ApplyOptions{FieldManager: v1alpha1.NodeAgentFieldManager}); err != nil {
			return err
		}
	}
	if !saysReady(node) {
		return nil
	}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"status":{"conditions":[{"$patch":"delete","type":%q}]}}`, node.GetUID(), v1alpha1.NodeConditionAcceleratorsReady)
	_, err := resource.Patch(ctx, node.GetName(), types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}

func deleteObject(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	uid := object.GetUID()
	return resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
}

// ofOurDriver says whether a ResourceSlice is one of the node agents' own.
func ofOurDriver(object *unstructured.Unstructured) bool {
	driver, _, _ := unstructured.NestedString(object.Object, "spec", "driver")
	return driver == v1alpha1.DRADriver
}

func everything(*unstructured.Unstructured) bool { return true }

// agentHolds says whether an agent applied fields of an object that it still holds. An entry of managedFields that holds nothing
// has no fields, or an empty set of them.
func agentHolds(object *unstructured.Unstructured) bool {
	for _, entry := range object.GetManagedFields() {
		if entry.Manager != v1alpha1.NodeAgentFieldManager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.FieldsV1 == nil {
			continue
		}
		var held map[string]json.RawMessage
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &held) != nil || len(held) > 0 {
			return true
		}
	}
	return false
}

// gone says whether an error is that something does not exist: the object, one of its UID, or the kind.
func gone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }
