package chart

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// Names of the chart with testdata/values/names.yaml, none of which is a default.
const (
	otherNamespace = "accelerators"
	otherAccount   = "detector"
)

var (
	nodesKind       = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	leasesKind      = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	inventoriesKind = schema.GroupVersionResource{Group: "rankwright.dev", Version: "v1alpha1", Resource: "acceleratorinventories"}
	eventsKind      = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}
	slicesKind      = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"}
	coreEventsKind  = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// act is something that an agent tries.
type act func(context.Context, dynamic.Interface) error

// applies applies an object, given as YAML, as the agent does.
func applies(kind schema.GroupVersionResource, body string, subresources ...string) act {
	return func(ctx context.Context, client dynamic.Interface) error {
		object, err := parse(body)
		if err != nil {
			return err
		}
		options := metav1.ApplyOptions{FieldManager: "rankwright-node-agent", Force: true}
		_, err = client.Resource(kind).Namespace(object.GetNamespace()).Apply(ctx, object.GetName(), object, options, subresources...)
		return err
	}
}

func parse(body string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	return object, yaml.Unmarshal([]byte(body), &object.Object)
}

// creates creates an object, given as YAML.
func creates(kind schema.GroupVersionResource, body string) act {
	return func(ctx context.Context, client dynamic.Interface) error {
		object, err := parse(body)
		if err != nil {
			return err
		}
		_, err = client.Resource(kind).Namespace(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{})
		return err
	}
}

// merges makes a merge patch of an object without a namespace.
func merges(kind schema.GroupVersionResource, name, patch string, subresources ...string) act {
	return func(ctx context.Context, client dynamic.Interface) error {
		_, err := client.Resource(kind).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
		return err
	}
}

// says makes a strategic merge patch of a condition of node own, as kubelets and agents do.
func says(condition string) act {
	return func(ctx context.Context, client dynamic.Interface) error {
		patch := fmt.Appendf(nil, `{"status":{"conditions":[%s]}}`, condition)
		_, err := client.Resource(nodesKind).Patch(ctx, "own", types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "rankwright-node-agent"}, "status")
		return err
	}
}

func deletes(kind schema.GroupVersionResource, namespace, name string) act {
	return func(ctx context.Context, client dynamic.Interface) error {
		return client.Resource(kind).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	}
}

func deletesAll(kind schema.GroupVersionResource, namespace string) act {
	return func(ctx context.Context, client dynamic.Interface) error {
		return client.Resource(kind).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	}
}

func nodeWith(name, metadata string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: %s, %s}}", name, metadata)
}

// saysOfNode is a Node with a condition.
func saysOfNode(name, condition, status string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: %s}, status: {conditions: [{type: %s, status: '%s', reason: X, message: x}]}}", name, condition, status)
}

func inventoryWith(name, rest string) string {
	return fmt.Sprintf("{apiVersion: rankwright.dev/v1alpha1, kind: AcceleratorInventory, metadata: {name: %s%s}", name, rest)
}

func lease(namespace, name string) string {
	return fmt.Sprintf("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: %s, namespace: %s}, spec: {holderIdentity: x}}", name, namespace)
}

func eventAbout(name, about string) string {
	return fmt.Sprintf("{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: %s, namespace: default}, eventTime: '2026-01-01T00:00:00.000000Z', "+
		"reportingController: rankwright.dev/node-agent, reportingInstance: x, action: Observe, reason: DeviceUnhealthy, type: Normal, regarding: {%s}}", name, about)
}

func coreEventAbout(name, about string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Event, metadata: {name: %s, namespace: default}, reason: DeviceUnhealthy, type: Normal, involvedObject: {%s}}", name, about)
}

// sliceOf is a ResourceSlice, with more of its metadata.
func sliceOf(name, node, driver, metadata string) string {
	return fmt.Sprintf("{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: %s%s}, "+
		"spec: {driver: %s, nodeName: %s, pool: {name: %s, generation: 1, resourceSliceCount: 1}}}", name, metadata, driver, node, node)
}

const (
	onlyLabels      = "may change labels under rankwright.dev/ alone"
	onlyAnnotations = "may change annotations under rankwright.dev/ alone"
	nothingElse     = "may change nothing of a Node but labels and annotations"
	onlyCondition   = "may change no condition of a Node but AcceleratorsReady"
	noOtherStatus   = "may change nothing of a Node's status but its condition AcceleratorsReady"
	otherNode       = "the agent of node 'own' may not write"
	noDelete        = "the node agent may not delete"
	onlyStatus      = "spec of an AcceleratorInventory is the administrator's"
	onlyOwnSlices   = "the agent of node 'own' may write ResourceSlices of its own node alone"
	onlyOurDriver   = "may write ResourceSlices of the driver rankwright.dev alone"
	onlyOwned       = "a ResourceSlice that the node agent writes is owned by its Node alone"
	onlyOwnEvents   = "may write events about Node and AcceleratorInventory 'own' alone"
)

// refusedActs are what the policy must refuse to the agent of node own, each with what the refusal says.
var refusedActs = []struct {
	name string
	act  act
	want string
}{
	{"labels another node", applies(nodesKind, nodeWith("other", "labels: {rankwright.dev/accelerator: 'true'}")), otherNode + " nodes 'other'"},
	{"labels outside the prefix", applies(nodesKind, nodeWith("own", "labels: {node-role.kubernetes.io/control-plane: ''}")), onlyLabels},
	{"labels a lookalike of the prefix", applies(nodesKind, nodeWith("own", "labels: {rankwright.development/x: z}")), onlyLabels},
	{"changes another's label", applies(nodesKind, nodeWith("own", "labels: {kubernetes.io/hostname: stolen}")), onlyLabels},
	{"removes another's label", merges(nodesKind, "own", `{"metadata":{"labels":{"kubernetes.io/hostname":null}}}`), onlyLabels},
	{"annotates outside the prefix", applies(nodesKind, nodeWith("own", "annotations: {example.com/x: z}")), onlyAnnotations},
	{"removes another's annotation", merges(nodesKind, "own", `{"metadata":{"annotations":{"example.com/note":null}}}`), onlyAnnotations},
	{"taints its node", merges(nodesKind, "own", `{"spec":{"taints":[{"key":"a","effect":"NoExecute"}]}}`), nothingElse},
	{"cordons its node", merges(nodesKind, "own", `{"spec":{"unschedulable":true}}`), nothingElse},
	{"takes its node's provider", merges(nodesKind, "own", `{"spec":{"providerID":"cloud://x"}}`), nothingElse},
	{"holds its node by a finalizer", merges(nodesKind, "own", `{"metadata":{"finalizers":["example.com/hold"]}}`), nothingElse},
	{"gives its node an owner", merges(nodesKind, "own", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"y"}]}}`), nothingElse},
	{"takes the fields of its node from their managers", merges(nodesKind, "own", `{"metadata":{"managedFields":[{}]}}`), "may not take the fields of a Node from their managers"},
	{"invents capacity", merges(nodesKind, "own", `{"status":{"capacity":{"rankwright.dev/x":"9"}}}`, "status"), noOtherStatus},
	{"takes capacity away", merges(nodesKind, "own", `{"status":{"capacity":null}}`, "status"), noOtherStatus},
	{"moves its node", merges(nodesKind, "own", `{"status":{"addresses":[{"type":"InternalIP","address":"10.9.9.9"}]}}`, "status"), noOtherStatus},
	{"invents an image", merges(nodesKind, "own", `{"status":{"images":[{"names":["x"],"sizeBytes":1}]}}`, "status"), noOtherStatus},
	{"labels its node by its status", merges(nodesKind, "own", `{"metadata":{"labels":{"rankwright.dev/x":"y"}}}`, "status"), noOtherStatus},
	{"annotates its node by its status", merges(nodesKind, "own", `{"metadata":{"annotations":{"rankwright.dev/x":"y"}}}`, "status"), noOtherStatus},
	{"takes another's label by the status of its node", merges(nodesKind, "own", `{"metadata":{"labels":{"kubernetes.io/hostname":null}}}`, "status"), onlyLabels},
	{"says that its node is not ready", applies(nodesKind, saysOfNode("own", "Ready", "False"), "status"), onlyCondition},
	{"says something else of its node", applies(nodesKind, saysOfNode("own", "NetworkUnavailable", "True"), "status"), onlyCondition},
	{"takes a condition of its node away", says(`{"type":"MemoryPressure","$patch":"delete"}`), onlyCondition},
	{"gives up a part of a status that it applied", func(ctx context.Context, client dynamic.Interface) error {
		applied := applies(nodesKind, saysOfNode("own", "AcceleratorsReady", "True"), "status")(ctx, client)
		return errors.Join(applied, applies(nodesKind, nodeWith("own", "labels: {}"), "status")(ctx, client))
	}, noOtherStatus},
	{"says it in other letters", applies(nodesKind, saysOfNode("own", "acceleratorsReady", "True"), "status"), onlyCondition},
	{"takes the conditions of its node away", merges(nodesKind, "own", `{"status":{"conditions":null}}`, "status"), onlyCondition},
	{"says that another node's accelerators are ready", applies(nodesKind, saysOfNode("other", "AcceleratorsReady", "True"), "status"), otherNode + " nodes 'other'"},
	{"lies about another node's state", merges(nodesKind, "other", `{"status":{"conditions":[]}}`, "status"), otherNode + " nodes 'other'"},
	{"makes a node", creates(nodesKind, nodeWith("fake", "labels: {}")), otherNode + " nodes 'fake'"},
	{"deletes its node", deletes(nodesKind, "", "own"), noDelete + " nodes"},
	{"deletes another node", deletes(nodesKind, "", "other"), noDelete + " nodes"},
	{"deletes all nodes", deletesAll(nodesKind, ""), noDelete + " nodes"},
	{"makes another node's inventory", applies(inventoriesKind, inventoryWith("third", "}")), otherNode + " acceleratorinventories 'third'"},
	{"writes another node's inventory", applies(inventoriesKind, inventoryWith("other", ", labels: {a: b}}")), otherNode + " acceleratorinventories 'other'"},
	{"writes another node's status", applies(inventoriesKind, inventoryWith("other", "}, status: {summary: {devices: 0, healthy: 0}}"), "status"), otherNode + " acceleratorinventories 'other'"},
	{"lets the server choose a name", creates(inventoriesKind, "{apiVersion: rankwright.dev/v1alpha1, kind: AcceleratorInventory, metadata: {generateName: own-}}"), otherNode},
	{"cordons a device", merges(inventoriesKind, "own", `{"spec":{"cordonedDevices":["google-accel0"]}}`), onlyStatus},
	{"lifts a cordon", merges(inventoriesKind, "own", `{"spec":null}`), onlyStatus},
	{"holds its inventory by a finalizer", merges(inventoriesKind, "own", `{"metadata":{"finalizers":["example.com/hold"]}}`), "has no finalizer but those that others gave it"},
	{"gives its inventory to another node", merges(inventoriesKind, "own", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"other","uid":"y"}]}}`), "owned by its Node alone"},
	{"gives its inventory to something else", merges(inventoriesKind, "own", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"own","uid":"y"}]}}`), "owned by its Node alone"},
	{"deletes its inventory", deletes(inventoriesKind, "", "own"), noDelete + " acceleratorinventories"},
	{"deletes another node's inventory", deletes(inventoriesKind, "", "other"), noDelete + " acceleratorinventories"},
	{"deletes all inventories", deletesAll(inventoriesKind, ""), noDelete + " acceleratorinventories"},
	{"writes another agent's heartbeat", applies(leasesKind, lease(otherNamespace, "other")), otherNode + " leases 'other'"},
	{"writes its kubelet's heartbeat", applies(leasesKind, lease("kube-node-lease", "own")), "start it with --lease-namespace=" + otherNamespace},
	{"leads the operators", applies(leasesKind, lease("placement", "rankwright-operator")), otherNode + " leases 'rankwright-operator'"},
	{"deletes its heartbeat", deletes(leasesKind, otherNamespace, "own"), noDelete + " leases"},
	{"tells of another node", creates(eventsKind, eventAbout("of-other", "kind: Node, name: other")), onlyOwnEvents},
	{"tells of a pod", creates(eventsKind, eventAbout("of-pod", "kind: Pod, name: own, namespace: default")), onlyOwnEvents},
	{"tells of another node by the older kind", creates(coreEventsKind, coreEventAbout("of-other-core", "kind: Node, name: other")), onlyOwnEvents},
	{"offers devices of another node", applies(slicesKind, sliceOf("of-third", "third", "rankwright.dev", "")), onlyOwnSlices},
	{"changes another node's devices", applies(slicesKind, sliceOf("of-other", "other", "rankwright.dev", ", labels: {a: b}")), onlyOwnSlices},
	{"takes another node's devices away", deletes(slicesKind, "", "of-other"), onlyOwnSlices},
	{"offers another driver's devices", applies(slicesKind, sliceOf("forged", "own", "gpu.amd.com", "")), onlyOurDriver},
	{"takes another driver's devices away", deletes(slicesKind, "", "of-amd"), onlyOurDriver},
	{"offers devices of every node", creates(slicesKind, "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: everywhere}, "+
		"spec: {driver: rankwright.dev, allNodes: true, pool: {name: own, generation: 1, resourceSliceCount: 1}}}"), onlyOwnSlices},
	{"takes all devices away", deletesAll(slicesKind, ""), "may write ResourceSlices of"},
	{"holds its devices by a finalizer", applies(slicesKind, sliceOf("held", "own", "rankwright.dev", ", finalizers: [example.com/hold]")), onlyOwned},
	{"gives its devices to something else", applies(slicesKind, sliceOf("given", "own", "rankwright.dev",
		", ownerReferences: [{apiVersion: v1, kind: Node, name: other, uid: another}]")), onlyOwned},
	{"deletes events", deletesAll(eventsKind, metav1.NamespaceDefault), noDelete + " events"},
}

// namedAct is an act with its name.
type namedAct struct {
	name string
	act  act
}

// actsOf are what the agent of a node does, in this order. The inventory's owner is the Node that is there: an inventory with
// another owner's uid would be collected as garbage.
func actsOf(own *corev1.Node) []namedAct {
	return []namedAct{
		{"labels its node", applies(nodesKind, nodeWith("own", "labels: {rankwright.dev/accelerator: 'true', rankwright.dev/amd.count: '8'}"))},
		{"takes labels away", applies(nodesKind, nodeWith("own", "labels: {}"))},
		{"annotates its node", applies(nodesKind, nodeWith("own", "annotations: {rankwright.dev/note: x}"))},
		{"says that its accelerators are ready", says(`{"type":"AcceleratorsReady","status":"True"}`)},
		{"says that they are not", says(`{"type":"AcceleratorsReady","status":"False"}`)},
		{"says nothing of them", says(`{"type":"AcceleratorsReady","$patch":"delete"}`)},
		{"writes its inventory", applies(inventoriesKind, inventoryWith("own", ", ownerReferences: [{apiVersion: v1, kind: Node, name: own, uid: "+string(own.UID)+"}]}"))},
		{"writes its status", applies(inventoriesKind, inventoryWith("own", "}, status: {summary: {devices: 0, healthy: 0}}"), "status")},
		{"beats", applies(leasesKind, lease(otherNamespace, "own"))},
		{"offers its devices", applies(slicesKind, sliceOf("of-own", "own", "rankwright.dev", ", ownerReferences: [{apiVersion: v1, kind: Node, name: own, uid: "+string(own.UID)+"}]"))},
		{"takes its devices away", deletes(slicesKind, "", "of-own")},
		{"tells of its node", creates(eventsKind, eventAbout("of-own", "kind: Node, name: own"))},
		{"tells of its inventory", creates(eventsKind, eventAbout("of-own-inventory", "kind: AcceleratorInventory, name: own"))},
		{"tells of its node by the older kind", creates(coreEventsKind, coreEventAbout("of-own-core", "kind: Node, name: own"))},
	}
}

// TestPolicyConfinesAnAgentThatMayDoEverything gives the agent's account all rights of an administrator, so that what is
// refused is refused by the policy, and not for want of a right.
func TestPolicyConfinesAnAgentThatMayDoEverything(t *testing.T) {
	install(t, otherNamespace, "--values", "testdata/values/names.yaml")
	admin := clients(t)
	_, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-may-do-everything"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: otherNamespace, Name: otherAccount}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.RbacV1().ClusterRoleBindings().Delete(context.Background(), "agent-may-do-everything", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	own := createNode(t, "own")
	createNode(t, "other")
	administrator, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, present := range []act{
		creates(inventoriesKind, inventoryWith("own", "}, spec: {cordonedDevices: [amd-0000:03:00.0]}")),
		creates(inventoriesKind, inventoryWith("other", "}")),
		creates(leasesKind, lease(otherNamespace, "own")),
		creates(slicesKind, sliceOf("of-own", "own", "rankwright.dev", "")),
		creates(slicesKind, sliceOf("of-other", "other", "rankwright.dev", "")),
		creates(slicesKind, sliceOf("of-amd", "own", "gpu.amd.com", "")),
		creates(eventsKind, eventAbout("of-others", "kind: Node, name: other")),
	} {
		if err := present(t.Context(), administrator); err != nil {
			t.Fatal(err)
		}
	}
	agent, unbound := cluster.AccountClient(t, otherNamespace, otherAccount, own), cluster.AccountClient(t, otherNamespace, otherAccount, nil)
	acts := actsOf(own)
	const noNode = "token is bound to no node"
	await(t, "the policy is in force", func(ctx context.Context) bool {
		return isRefusal(acts[0].act(ctx, unbound), noNode)
	})
	for _, test := range refusedActs {
		t.Run("refused: "+test.name, func(t *testing.T) {
			if err := test.act(t.Context(), agent); !isRefusal(err, test.want) {
				t.Errorf("%v, want a refusal by the policy with %q", err, test.want)
			}
		})
	}
	for _, test := range acts {
		t.Run("refused without a node: "+test.name, func(t *testing.T) {
			if err := test.act(t.Context(), unbound); !isRefusal(err, noNode) {
				t.Errorf("%v, want a refusal by the policy with %q", err, noNode)
			}
		})
	}
	for _, test := range acts {
		t.Run("allowed: "+test.name, func(t *testing.T) {
			if err := test.act(t.Context(), agent); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("others are not confined", func(t *testing.T) {
		if err := merges(nodesKind, "own", `{"metadata":{"labels":{"example.com/pool":"a"}},"spec":{"unschedulable":true}}`)(t.Context(), administrator); err != nil {
			t.Error(err)
		}
	})
}

// isRefusal says whether the policy refused, with the words.
func isRefusal(err error, words string) bool {
	return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'rankwright-node-agent'") && strings.Contains(err.Error(), words)
}

// install installs the chart for one test, and takes everything away with it.
func install(t *testing.T, namespace string, args ...string) {
	t.Helper()
	prepare(t, namespace)
	mustHelm(t, append([]string{"install", release, chartDir(t), "--namespace", namespace, "--set", "crds.keep=false,cleanup.enabled=false"}, args...)...)
	t.Cleanup(func() {
		if _, said, err := helm(t, "uninstall", release, "--namespace", namespace, "--wait"); err != nil {
			t.Error(err, said)
		}
		// A pod on a node waits for its kubelet, which there is none of here.
		_, said, err := tool(t, []string{"KUBECONFIG=" + cluster.Kubeconfig()}, "kubectl", "delete", "pods", "--all", "--force", "--grace-period=0", "--namespace", namespace)
		if err != nil {
			t.Error(said)
		}
	})
	await(t, "the kinds are served", func(ctx context.Context) bool {
		client, err := dynamic.NewForConfig(cluster.Config())
		if err != nil {
			return false
		}
		_, err = client.Resource(inventoriesKind).List(ctx, metav1.ListOptions{})
		return err == nil
	})
}

func createNode(t *testing.T, name string) *corev1.Node {
	t.Helper()
	admin := clients(t)
	node, err := admin.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
		Annotations: map[string]string{"example.com/note": "x"},
	}, Status: corev1.NodeStatus{
		Capacity:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			_, err := admin.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	return node
}
