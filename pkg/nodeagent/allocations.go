package nodeagent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
)

// Reasons of the condition AllocationsCurrent.
const (
	reasonKubeletAnswers     = "KubeletAnswers"
	reasonKubeletUnreachable = "KubeletUnreachable"
	reasonUnknownDevices     = "UnknownDevices"
	reasonTooManyAllocations = "TooManyAllocations"
)

// maxNamed is how many names a condition tells; the metric has the number of all.
const maxNamed = 8

// heldNow are the allocations to publish. known is false where they are as they were.
func heldNow(state podresources.State, hardware *podresources.Hardware, published []v1alpha1.Allocation) (held podresources.Allocations, known bool) {
	if state.Answer == nil || state.NoKubelet {
		return podresources.Allocations{Rows: published}, false
	}
	held = hardware.Allocations(state.Answer.Grants)
	if state.Settling {
		held.Rows = podresources.Join(held.Rows, published)
	}
	return held, true
}

// allocationsCondition says whether the allocations are what the kubelet says; none where there is no kubelet to ask.
func allocationsCondition(state podresources.State, held podresources.Allocations) []metav1.Condition {
	if state.NoKubelet || state.Answer == nil && state.Err == nil {
		return nil
	}
	status, reason, message := metav1.ConditionFalse, "", ""
	switch {
	case state.Err != nil:
		reason, message = reasonKubeletUnreachable, "allocations are as they were last heard of: "+state.Err.Error()
	case held.Omitted > 0:
		reason, message = reasonTooManyAllocations, fmt.Sprintf("%s of shared devices are left out: an inventory lists %d",
			words.Counted(held.Omitted, "allocation"), podresources.MaxAllocations)
	case len(held.Unknown) > 0:
		reason, message = reasonUnknownDevices, "pods hold devices of which nothing tells which they are, so they count as free: "+namesOf(held.Unknown)
	default:
		status, reason, message = metav1.ConditionTrue, reasonKubeletAnswers, "the kubelet says which pod holds which device"
	}
	return []metav1.Condition{condition(v1alpha1.ConditionAllocationsCurrent, status, reason, message)}
}

// namesOf lists names as RESOURCE=ID, or DRIVER/POOL=DEVICE.
func namesOf(names []podresources.Name) string {
	var parts []string
	for _, name := range names[:min(len(names), maxNamed)] {
		resource := name.Resource
		if name.Pool != "" {
			resource += "/" + name.Pool
		}
		parts = append(parts, resource+"="+name.Device)
	}
	if more := len(names) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// allDevices returns the detected devices and the published ones that were not detected, which may still be there.
func allDevices(detected, published []v1alpha1.Device) []v1alpha1.Device {
	all := slices.Clone(detected)
	for i := range published {
		if !slices.ContainsFunc(detected, func(d v1alpha1.Device) bool { return d.ID == published[i].ID }) {
			all = append(all, published[i])
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
