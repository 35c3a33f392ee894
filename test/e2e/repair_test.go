//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

const repairNamespace = "rankwright-repair"

// repairing are the chart's values for repairs by a Job that looks at its node's devices and ends, as examples/repair/job.yaml has them.
func repairing(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"enabled": true, "namespace": repairNamespace, "serviceAccountName": repairNamespace,
		"rules": []any{map[string]any{"apiGroups": []string{"batch"}, "resources": []string{"jobs"}, "verbs": []string{"get", "create", "delete"}}},
		"template": `apiVersion: batch/v1
kind: Job
spec:
  backoffLimit: 0
  template:
    spec:
      nodeName: {{ quote .Node }}
      restartPolicy: Never
      automountServiceAccountToken: false
      containers:
      - {name: reset, image: ` + probeImage + `, imagePullPolicy: Never, args: [show], env: [{name: DEVICE, value: {{ quote .PCIAddress }}}]}
`,
		"settings": map[string]any{"afterSeconds": 1, "checkSeconds": 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return "operator.repair=" + string(text)
}

// A device on which a rank runs falls off the bus: it is cordoned, its rank moves to another device, one Job repairs it, and it is offered
// again. The Node is never cordoned, and the pods on its other devices are untouched.
func TestDeviceIsRepaired(t *testing.T) {
	s := on(t)
	s.install(t, repairing(t))
	node, of := s.Nodes[1], served[1]
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count })
	bystander := s.mustBe(t, s.create(t, probePod("bystander", "hold", at(node.Name), asking(of.resource, 1))), running)
	s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return len(heldBy(i, bystander)) == 1 })
	// The pod comes back where its plan says.
	s.applyText(t, oneDeviceEach+probing, "NAME", "ailing", "COPIES", "1", "FIELDS", "enforcement: Slot\n  devices: {vendors: [amd]}", "COMMAND", "hold")
	s.awaitPlan(t, "ailing", "ailing-1")
	before := s.awaitReplica(t, "ailing-0", "")
	device := s.awaitMesh(t, "ailing", func(m *v1alpha1.DeviceMesh) bool { return m.Spec.Plan == "ailing-1" }).Spec.Members[0].Devices[0]
	inventory := s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool {
		return slices.Equal(heldBy(i, before), []v1alpha1.DeviceID{device})
	})

	began := time.Now()
	mend := breakDevice(t, node, inventory.Status.Device(device).PCI.Address)
	state := func(wanted ...v1alpha1.RepairState) func(*v1alpha1.AcceleratorInventory) bool {
		return func(i *v1alpha1.AcceleratorInventory) bool {
			repair := i.Status.Repair(device)
			return repair != nil && slices.Contains(wanted, repair.State)
		}
	}
	s.awaitInventory(t, node.Name, state(v1alpha1.RepairCordoned, v1alpha1.RepairVacated, v1alpha1.Repairing))
	step("%s was cordoned %.1f s after it failed", device, time.Since(began).Seconds())
	mesh := s.awaitMesh(t, "ailing", func(m *v1alpha1.DeviceMesh) bool { return m.Spec.Plan == "ailing-2" })
	if moved := mesh.Spec.Members[0].Devices; slices.Contains(moved, device) {
		t.Errorf("the new plan is on %v, and %s is broken", moved, device)
	}
	after := s.awaitReplica(t, "ailing-0", before.UID)
	s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool {
		return slices.Equal(heldBy(i, after), mesh.Spec.Members[0].Devices)
	})
	s.awaitInventory(t, node.Name, state(v1alpha1.Repairing, v1alpha1.RepairChecking))
	step("its repair began %.1f s after it failed", time.Since(began).Seconds())
	mend()
	s.awaitInventory(t, node.Name, state(v1alpha1.RepairReturned))
	step("it was back %.1f s after it failed", time.Since(began).Seconds())
	const slots = 1 // that the placement holds
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count-slots })

	jobs, err := s.clients.BatchV1().Jobs(repairNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs.Items) != 1 || jobs.Items[0].Annotations["rankwright.dev/device"] != string(device) || !ended(&jobs.Items[0]) {
		t.Errorf("repairs: %+v; want one that ended, of %s", jobs.Items, device)
	}
	s.untouchedNode(t, node.Name)
	s.untouched(t, survivor{bystander, bystander.Status.ContainerStatuses[0].ContainerID, heldBy(inventory, bystander)})
}

// awaitReplica waits until a pod of a StatefulSet runs that is not an old one.
func (s *site) awaitReplica(t *testing.T, name string, old types.UID) *corev1.Pod {
	t.Helper()
	return s.mustBe(t, podNamed(name), func(pod *corev1.Pod) (bool, error) {
		if pod == nil || pod.UID == old || !pod.DeletionTimestamp.IsZero() {
			return false, nil
		}
		return running(pod)
	})
}

func podNamed(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
}

func ended(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
	})
}

// untouchedNode fails the test where a Node is cordoned or has a taint of ours, or ever was cordoned by what events say.
func (s *site) untouchedNode(t *testing.T, name string) {
	t.Helper()
	node, err := s.clients.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Spec.Unschedulable || slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return strings.HasPrefix(taint.Key, v1alpha1.Prefix) }) {
		t.Errorf("node %s: unschedulable %t, taints %v", name, node.Spec.Unschedulable, node.Spec.Taints)
	}
	said, err := s.clients.CoreV1().Events(metav1.NamespaceAll).List(context.WithoutCancel(t.Context()), metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.kind": "Node", "involvedObject.name": name, "reason": "NodeNotSchedulable"}.String(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(said.Items) > 0 {
		t.Errorf("node %s was cordoned: %s", name, said.Items[0].Message)
	}
}
