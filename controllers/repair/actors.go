package repair

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// actor is a row of the table of marks by which others say that they work on a node. None of them is ours: we write no Node.
type actor struct {
	name string
	// One of label, annotation and taint is the key of the mark.
	label, annotation, taint string
	// idle are values of a label or annotation that say that nothing is under way.
	idle []string
}

// upgraded are the states of NVIDIA's upgrade library between two upgrades.
var upgraded = []string{"", "unknown", "upgrade-done"}

// actors are from the documents and constants of the projects: NVIDIA/k8s-operator-libs (driver upgrades), NVIDIA/mig-parted
// (mig.config.state), NVIDIA/NVSentinel (nvsentinel-state), medik8s/node-maintenance-operator, kubereboot/kured, and the node lifecycles of
// Kubernetes, its cluster autoscaler and Karpenter.
var actors = []actor{
	{name: "the GPU operator, which upgrades the driver", label: "nvidia.com/gpu-driver-upgrade-state", idle: upgraded},
	{name: "the network operator, which upgrades the driver", label: "nvidia.com/ofed-driver-upgrade-state", idle: upgraded},
	{name: "the MIG manager", label: "nvidia.com/mig.config.state", idle: []string{"", "success", "failed"}},
	// The state remediation-succeeded is set when the repair's object was made, not when the node is back, after which there is no label.
	{name: "NVSentinel", label: "dgxc.nvidia.com/nvsentinel-state", idle: []string{""}},
	{name: "node-maintenance-operator", taint: "medik8s.io/drain"},
	{name: "a remediation of medik8s", taint: "medik8s.io/remediation"},
	{name: "kured, which reboots the node", annotation: "weave.works/kured-reboot-in-progress"},
	{name: "the cluster autoscaler, which removes the node", taint: "ToBeDeletedByClusterAutoscaler"},
	{name: "Karpenter, which removes the node", taint: "karpenter.sh/disrupted"},
	{name: "whoever put the node out of service", taint: corev1.TaintNodeOutOfService},
	{name: "the cloud, which shut the node down", taint: "node.cloudprovider.kubernetes.io/shutdown"},
}

// otherActor says who else works on a node, and by which mark that is known; empty where nobody does.
func otherActor(node *corev1.Node) string {
	if !node.DeletionTimestamp.IsZero() {
		return "whoever deletes the node"
	}
	for i := range actors {
		if mark := actors[i].mark(node); mark != "" {
			return fmt.Sprintf("%s (%s)", actors[i].name, mark)
		}
	}
	// Last, since most of the others cordon the node as well.
	if node.Spec.Unschedulable {
		return "whoever cordoned the node (spec.unschedulable)"
	}
	return ""
}

func (a *actor) mark(node *corev1.Node) string {
	if a.taint != "" {
		if i := slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == a.taint }); i >= 0 {
			return "taint " + a.taint
		}
		return ""
	}
	kind, key, marks := "label", a.label, node.Labels
	if a.annotation != "" {
		kind, key, marks = "annotation", a.annotation, node.Annotations
	}
	value, marked := marks[key]
	if !marked || a.idle != nil && slices.Contains(a.idle, strings.ToLower(value)) {
		return ""
	}
	return fmt.Sprintf("%s %s=%s", kind, key, value)
}
