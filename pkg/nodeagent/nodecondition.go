package nodeagent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// Reasons of a Node's condition AcceleratorsReady, beside the reasons of the inventory's condition Served.
const (
	reasonReady          = "AllDevicesReady"
	reasonNoAccelerators = "NoAccelerators"
	reasonUnhealthy      = "DevicesUnhealthy"
	reasonUnknown        = "DevicesUnknown"
	reasonUnserved       = "DevicesNotServed"
)

// sayAgain is the time to the next attempt to write a condition of the Node after one that failed.
const sayAgain = time.Minute

// maxNodeMessage is what the agent writes into a condition of its Node at most, in bytes: a Node is read by everybody.
const maxNodeMessage = 1024

// acceleratorsReady says whether new pods can have each accelerator of the node: detected, in health as far as that is
// observed, and served to the kubelet by somebody. A cordoned device counts neither way. conditions are the inventory's.
func acceleratorsReady(spec v1alpha1.AcceleratorInventorySpec, devices []v1alpha1.Device, conditions []metav1.Condition) metav1.Condition {
	devices = slices.DeleteFunc(slices.Clone(devices), func(d v1alpha1.Device) bool { return d.Family == v1alpha1.FamilyCPU })
	ready := finding(metav1.ConditionTrue, reasonReady, "every accelerator is detected, usable and served")
	if len(devices) == 0 {
		ready = finding(metav1.ConditionFalse, reasonNoAccelerators, "the node has no accelerator any more")
	}
	if findings := append(aboutConditions(conditions), aboutDevices(spec, devices, conditions)...); len(findings) > 0 {
		// A False goes before an Unknown.
		ready = slices.MinFunc(findings, func(a, b metav1.Condition) int { return cmp.Compare(a.Status, b.Status) })
		var messages []string
		for _, f := range findings {
			messages = append(messages, f.Message)
		}
		ready.Message = strings.Join(messages, "; ")
	}
	ready.Message = words.Cut(ready.Message, maxNodeMessage)
	return ready
}

// finding is what the condition is, or would be for one of several things that keep accelerators from being ready or from being
// known to be.
func finding(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return condition(v1alpha1.NodeConditionAcceleratorsReady, status, reason, message)
}

// aboutConditions are findings about the node as a whole.
func aboutConditions(conditions []metav1.Condition) []metav1.Condition {
	var findings []metav1.Condition
	if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionDetected); c != nil && c.Status != metav1.ConditionTrue {
		findings = append(findings, finding(metav1.ConditionUnknown, c.Reason, c.Message))
	}
	if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionServed); c != nil && c.Status != metav1.ConditionTrue {
		findings = append(findings, finding(c.Status, c.Reason, c.Message))
	}
	return findings
}

// aboutDevices are findings about single devices. Who serves them is known where the kubelet can be asked.
func aboutDevices(spec v1alpha1.AcceleratorInventorySpec, devices []v1alpha1.Device, conditions []metav1.Condition) []metav1.Condition {
	var unhealthy, unknown, unserved []string
	asked := meta.FindStatusCondition(conditions, v1alpha1.ConditionAllocationsCurrent) != nil
	for i := range devices {
		d := &devices[i]
		switch {
		case slices.Contains(spec.CordonedDevices, d.ID):
		case !d.Usable() && d.Health.State == v1alpha1.Unknown:
			unknown = append(unknown, fmt.Sprintf("%s (%s)", d.ID, d.Health.Reason))
		case !d.Usable():
			unhealthy = append(unhealthy, fmt.Sprintf("%s (%s)", d.ID, d.Health.Reason))
		case d.Service == nil && asked:
			unserved = append(unserved, string(d.ID))
		}
	}
	var findings []metav1.Condition
	tell := func(status metav1.ConditionStatus, reason, about string, devices []string) {
		if len(devices) > 0 {
			findings = append(findings, finding(status, reason, about+strings.Join(devices, ", ")))
		}
	}
	tell(metav1.ConditionFalse, reasonUnhealthy, "not usable: ", unhealthy)
	tell(metav1.ConditionFalse, reasonUnserved, "served by nobody, so serve their vendor here or install its device plugin or DRA driver: ", unserved)
	tell(metav1.ConditionUnknown, reasonUnknown, "not known to be usable: ", unknown)
	return findings
}

// writeNodeCondition makes a condition one of the Node where it differs. A Node that never had accelerators gets none. It is a
// merge, as kubelets write theirs: one who applies a part of a status and gives it up again takes away all of the status that
// nobody applied.
func writeNodeCondition(ctx context.Context, c dynamic.Interface, node *nodeNow, wanted metav1.Condition, now metav1.Time) error {
	before := meta.FindStatusCondition(node.Status.Conditions, wanted.Type)
	if before == nil && wanted.Reason == reasonNoAccelerators ||
		before != nil && before.Status == wanted.Status && before.Reason == wanted.Reason && before.Message == wanted.Message {
		return nil
	}
	since := now
	if before != nil && before.Status == wanted.Status {
		since = before.LastTransitionTime
	}
	patch, err := json.Marshal(object{
		"metadata": object{"uid": string(node.UID)},
		"status": object{"conditions": []any{object{
			"type": wanted.Type, "status": string(wanted.Status), "reason": wanted.Reason, "message": wanted.Message,
			"lastTransitionTime": since.UTC().Format(time.RFC3339), "lastHeartbeatTime": now.UTC().Format(time.RFC3339),
		}}},
	})
	if err == nil {
		_, err = c.Resource(nodes).Patch(ctx, node.Name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{FieldManager: v1alpha1.NodeAgentFieldManager}, "status")
	}
	if err != nil {
		return fmt.Errorf("write condition %s of Node %s: %w", wanted.Type, node.Name, err)
	}
	return nil
}
