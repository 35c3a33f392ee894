package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/rankwright/rankwright/test/controlplane"
)

const agentName = "rankwright-node-agent"

func createNode(t *testing.T, admin kubernetes.Interface, name string) *corev1.Node {
	t.Helper()
	node, err := admin.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"kubernetes.io/hostname": name},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return node
}

// write is a server-side apply by an agent.
type write struct {
	resource, namespace, name, subresource, body string
}

func (w write) by(ctx context.Context, client dynamic.Interface) error {
	resources := map[string]schema.GroupVersionResource{
		"nodes":                  {Version: "v1", Resource: "nodes"},
		"leases":                 {Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
		"acceleratorinventories": {Group: "rankwright.dev", Version: "v1alpha1", Resource: "acceleratorinventories"},
	}
	var subresources []string
	if w.subresource != "" {
		subresources = append(subresources, w.subresource)
	}
	force := true
	_, err := client.Resource(resources[w.resource]).Namespace(w.namespace).Patch(ctx, w.name, types.ApplyPatchType, []byte(w.body),
		metav1.PatchOptions{FieldManager: agentName, Force: &force}, subresources...)
	return err
}

func nodeBody(name, rest string) string {
	return "{apiVersion: v1, kind: Node, metadata: {name: " + name + ", " + rest
}

// acceleratorsReady is the condition that an agent may write.
const acceleratorsReady = "status: {conditions: [{type: AcceleratorsReady, status: 'True', reason: X, message: x}]}"

func inventoryBody(name, rest string) string {
	return "{apiVersion: rankwright.dev/v1alpha1, kind: AcceleratorInventory, metadata: {name: " + name + rest
}

func leaseBody(name string) string {
	return "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: " + name + "}, spec: {holderIdentity: " + name + "}}"
}

func TestAgentIsConfinedToItsNode(t *testing.T) {
	admin, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	installAgentRules(t)
	own := createNode(t, admin, "own-node")
	createNode(t, admin, "other-node")
	agent, unbound := cluster.AccountClient(t, agentName, agentName, own), cluster.AccountClient(t, agentName, agentName, nil)
	ownLabel := write{resource: "nodes", name: "own-node", body: nodeBody("own-node", `labels: {rankwright.dev/accelerator: "true"}}}`)}
	awaitRefusal(t, unbound, ownLabel)

	refused := []struct {
		name  string
		write write
		want  string
	}{
		{
			"another node's labels",
			write{resource: "nodes", name: "other-node", body: nodeBody("other-node", `labels: {rankwright.dev/accelerator: "true"}}}`)},
			"the agent of node 'own-node' may not write nodes 'other-node'",
		},
		{
			"a label outside the prefix",
			write{resource: "nodes", name: "own-node", body: nodeBody("own-node", "labels: {node-role.kubernetes.io/control-plane: ''}}}")},
			"may change labels under rankwright.dev/ alone",
		},
		{
			"a label of another owner",
			write{resource: "nodes", name: "own-node", body: nodeBody("own-node", "labels: {kubernetes.io/hostname: stolen}}}")},
			"may change labels under rankwright.dev/ alone",
		},
		{
			"a label that only begins like the prefix",
			write{resource: "nodes", name: "own-node", body: nodeBody("own-node", "labels: {rankwright.development/x: value}}}")},
			"may change labels under rankwright.dev/ alone",
		},
		{
			"an annotation outside the prefix",
			write{resource: "nodes", name: "own-node", body: nodeBody("own-node", "annotations: {example.com/x: value}}}")},
			"may change annotations under rankwright.dev/ alone",
		},
		{
			"a taint",
			write{resource: "nodes", name: "own-node", body: nodeBody("own-node", "labels: {}}, spec: {taints: [{key: a, effect: NoSchedule}]}}")},
			"may change nothing of a Node but labels and annotations",
		},
		{
			"a finalizer on the node",
			write{resource: "nodes", name: "own-node", body: nodeBody("own-node", "finalizers: [example.com/hold]}}")},
			"may change nothing of a Node but labels and annotations",
		},
		{"a node of its own making", write{resource: "nodes", name: "new-node", body: nodeBody("new-node", "labels: {}}}")}, "forbidden"},
		{
			"the status of its node",
			write{resource: "nodes", name: "own-node", subresource: "status", body: nodeBody("own-node", "labels: {}}, status: {capacity: {rankwright.dev/x: '9'}}}")},
			"may change nothing of a Node's status but its condition AcceleratorsReady",
		},
		{
			"another condition of its node",
			write{resource: "nodes", name: "own-node", subresource: "status", body: nodeBody("own-node", "labels: {}}, status: {conditions: [{type: Ready, status: 'True'}]}}")},
			"may change no condition of a Node but AcceleratorsReady",
		},
		{
			"the condition of another node",
			write{resource: "nodes", name: "other-node", subresource: "status", body: nodeBody("other-node", "labels: {}}, "+acceleratorsReady+"}")},
			"the agent of node 'own-node' may not write nodes 'other-node'",
		},
		{
			"another node's inventory",
			write{resource: "acceleratorinventories", name: "other-node", body: inventoryBody("other-node", "}}")},
			"may not write acceleratorinventories 'other-node'",
		},
		{
			"cordoned devices",
			write{resource: "acceleratorinventories", name: "own-node", body: inventoryBody("own-node", "}, spec: {cordonedDevices: [google-accel0]}}")},
			"spec of an AcceleratorInventory is the administrator's",
		},
		{
			"an inventory with a finalizer",
			write{resource: "acceleratorinventories", name: "own-node", body: inventoryBody("own-node", ", finalizers: [example.com/hold]}}")},
			"has no finalizer",
		},
		{
			"an inventory of another owner",
			write{resource: "acceleratorinventories", name: "own-node", body: inventoryBody("own-node", ", ownerReferences: [{apiVersion: v1, kind: Node, name: other-node, uid: x}]}}")},
			"owned by its Node alone",
		},
		{
			"another node's heartbeat",
			write{resource: "leases", namespace: agentName, name: "other-node", body: leaseBody("other-node")},
			"may not write leases 'other-node'",
		},
		{"the kubelet's heartbeat", write{resource: "leases", namespace: "kube-node-lease", name: "own-node", body: leaseBody("own-node")}, "forbidden"},
	}
	for _, test := range refused {
		t.Run("refused: "+test.name, func(t *testing.T) {
			err := test.write.by(t.Context(), agent)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("write = %v, want a refusal with %q", err, test.want)
			}
		})
	}

	allowed := []struct {
		name  string
		write write
	}{
		{"its node's labels", ownLabel},
		{"its node's labels taken away", write{resource: "nodes", name: "own-node", body: nodeBody("own-node", "labels: {}}}")}},
		{"its node's condition", write{resource: "nodes", name: "own-node", subresource: "status", body: nodeBody("own-node", "labels: {}}, "+acceleratorsReady+"}")}},
		{"its inventory", write{resource: "acceleratorinventories", name: "own-node", body: inventoryBody("own-node",
			", ownerReferences: [{apiVersion: v1, kind: Node, name: own-node, uid: "+string(own.UID)+"}]}}")}},
		{"its inventory's status", write{
			resource: "acceleratorinventories", name: "own-node", subresource: "status",
			body: inventoryBody("own-node", "}, status: {summary: {devices: 0, healthy: 0}}}"),
		}},
		{"its heartbeat", write{resource: "leases", namespace: agentName, name: "own-node", body: leaseBody("own-node")}},
	}
	for _, test := range allowed {
		t.Run("allowed: "+test.name, func(t *testing.T) {
			if err := test.write.by(t.Context(), agent); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("refused: slots", func(t *testing.T) { slotsAreRefused(t, agent) })
	if err := resource(t, "AcceleratorInventory", "").Delete(t.Context(), "own-node", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// slotsAreRefused has an agent add, change and remove slots of its own inventory, by every kind of patch.
func slotsAreRefused(t *testing.T, agent dynamic.Interface) {
	t.Helper()
	const slots = "status: {slots: [{device: google-accel0, resource: rankwright.dev/slot-%d}]}"
	inventories := schema.GroupVersionResource{Group: "rankwright.dev", Version: "v1alpha1", Resource: "acceleratorinventories"}
	patch := func(by dynamic.Interface, kind types.PatchType, body string, options metav1.PatchOptions) error {
		_, err := by.Resource(inventories).Patch(t.Context(), "own-node", kind, []byte(body), options, "status")
		return err
	}
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "status.slots and status.repairs of an AcceleratorInventory are the operator's") {
			t.Errorf("%s slots = %v, want a refusal", what, err)
		}
	}
	force := true
	own := metav1.PatchOptions{FieldManager: agentName, Force: &force}
	refused("adding", patch(agent, types.ApplyPatchType, inventoryBody("own-node", "}, "+fmt.Sprintf(slots, 0)+"}"), own))
	operator := metav1.PatchOptions{FieldManager: "rankwright-operator"}
	if _, err := resource(t, "AcceleratorInventory", "").Patch(t.Context(), "own-node", types.ApplyPatchType,
		[]byte(inventoryBody("own-node", "}, "+fmt.Sprintf(slots, 0)+"}")), operator, "status"); err != nil {
		t.Fatal(err)
	}
	refused("changing", patch(agent, types.ApplyPatchType, inventoryBody("own-node", "}, "+fmt.Sprintf(slots, 1)+"}"), own))
	refused("removing", patch(agent, types.MergePatchType, `{"status": {"slots": null}}`, metav1.PatchOptions{}))
	refused("adding repairs beside", patch(agent, types.MergePatchType,
		`{"status": {"repairs": [{"device": "google-accel0", "state": "Returned", "since": "2026-01-01T00:00:00Z"}]}}`, metav1.PatchOptions{}))
	if err := patch(agent, types.ApplyPatchType, inventoryBody("own-node", "}, status: {summary: {devices: 1, healthy: 0}}}"), own); err != nil {
		t.Errorf("the agent's own status beside a slot: %v", err)
	}
}

// installAgentRules applies what config/ says of the agent, as a cluster's administrator does.
func installAgentRules(t *testing.T) {
	t.Helper()
	objects, err := controlplane.ReadConfig("namespace", "rbac", "admission")
	if err != nil {
		t.Fatal(err)
	}
	if err := controlplane.Apply(t.Context(), cluster.Config(), "", objects...); err != nil {
		t.Fatal(err)
	}
}

// awaitRefusal returns when the policy is in force, which is a moment after it is written: the write of an agent whose
// token is bound to no node shows it.
func awaitRefusal(t *testing.T, unbound dynamic.Interface, w write) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := w.by(ctx, unbound)
		return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "token is bound to no node"), nil
	})
	if err != nil {
		t.Fatalf("the policy did not come into force: %v", err)
	}
}

func TestNoWildcards(t *testing.T) {
	objects, err := controlplane.ReadConfig("rbac", "dra/rights.yaml", "cleanup")
	if err != nil {
		t.Fatal(err)
	}
	rules := 0
	for _, object := range objects {
		list, _ := object.Object["rules"].([]any)
		for _, entry := range list {
			rule, _ := entry.(map[string]any)
			rules++
			fields := []string{"apiGroups", "resources", "verbs"}
			if _, urls := rule["nonResourceURLs"]; urls {
				fields = []string{"nonResourceURLs", "verbs"}
			}
			for _, field := range fields {
				values, _ := rule[field].([]any)
				if len(values) == 0 {
					t.Errorf("%s %s has a rule without %s", object.GetKind(), object.GetName(), field)
				}
				for _, value := range values {
					if value == "*" {
						t.Errorf("%s %s has a wildcard in %s", object.GetKind(), object.GetName(), field)
					}
				}
			}
		}
	}
	if rules == 0 {
		t.Error("config/rbac has no rules")
	}
}
