package nodeagent

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
)

func TestAllocationsCondition(t *testing.T) {
	answered := podresources.State{Answer: &podresources.Answer{}}
	var many []podresources.Name
	for i := range 10 {
		many = append(many, podresources.Name{Server: v1alpha1.ServedByDevicePlugin, Resource: "aws.amazon.com/neuroncore", Device: fmt.Sprint(i)})
	}
	condition := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: "AllocationsCurrent", Status: status, Reason: reason, Message: message}}
	}
	tests := []struct {
		about string
		state podresources.State
		held  podresources.Allocations
		want  []metav1.Condition
	}{
		{"no kubelet", podresources.State{NoKubelet: true}, podresources.Allocations{}, nil},
		{"not asked yet", podresources.State{}, podresources.Allocations{}, nil},
		{"answered", answered, podresources.Allocations{}, condition("True", "KubeletAnswers", "the kubelet says which pod holds which device")},
		{
			"unreachable",
			podresources.State{Answer: answered.Answer, Err: errors.New("gone")},
			podresources.Allocations{},
			condition("False", "KubeletUnreachable", "allocations are as they were last heard of: gone"),
		},
		{
			"a device of a pool",
			answered,
			podresources.Allocations{Unknown: []podresources.Name{{Server: v1alpha1.ServedByDRA, Resource: "gpu.nvidia.com", Pool: "n", Device: "x"}}},
			condition("False", "UnknownDevices", "pods hold devices of which nothing tells which they are, so they count as free: gpu.nvidia.com/n=x"),
		},
		{
			"many",
			answered,
			podresources.Allocations{Unknown: many},
			condition("False", "UnknownDevices", "pods hold devices of which nothing tells which they are, so they count as free: "+
				"aws.amazon.com/neuroncore=0, aws.amazon.com/neuroncore=1, aws.amazon.com/neuroncore=2, aws.amazon.com/neuroncore=3, "+
				"aws.amazon.com/neuroncore=4, aws.amazon.com/neuroncore=5, aws.amazon.com/neuroncore=6, aws.amazon.com/neuroncore=7, and 2 more"),
		},
		{
			"too many",
			answered,
			podresources.Allocations{Omitted: 2},
			condition("False", "TooManyAllocations", "2 allocations of shared devices are left out: an inventory lists 1024"),
		},
	}
	for _, tc := range tests {
		t.Run(tc.about, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, allocationsCondition(tc.state, tc.held)); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
		})
	}
}

// Until the kubelet has settled, nothing that was held is free.
func TestHeldUntilTheKubeletSettles(t *testing.T) {
	published := []v1alpha1.Allocation{{Device: "nvidia-a", Namespace: "n", Pod: "before", Resource: "rankwright.dev/x"}}
	grant := podresources.Grant{Namespace: "n", Pod: "now", Name: podresources.Name{
		Server: v1alpha1.ServedByDevicePlugin, Resource: "rankwright.dev/x", Device: "nvidia-b",
	}}
	answer := &podresources.Answer{Grants: []podresources.Grant{grant}}
	now := v1alpha1.Allocation{Device: "nvidia-b", Namespace: "n", Pod: "now", Resource: "rankwright.dev/x"}
	tests := []struct {
		about string
		state podresources.State
		want  []v1alpha1.Allocation
		known bool
	}{
		{"no answer", podresources.State{}, published, false},
		{"no kubelet any more", podresources.State{Answer: answer, NoKubelet: true}, published, false},
		{"settling", podresources.State{Answer: answer, Settling: true}, append(published[:1:1], now), true},
		{"settled", podresources.State{Answer: answer}, []v1alpha1.Allocation{now}, true},
		{"unreachable", podresources.State{Answer: answer, Err: errors.New("gone")}, []v1alpha1.Allocation{now}, true},
	}
	for _, tc := range tests {
		t.Run(tc.about, func(t *testing.T) {
			held, known := heldNow(tc.state, podresources.NewHardware(nil, nil), published)
			if diff := cmp.Diff(tc.want, held.Rows); diff != "" || known != tc.known {
				t.Errorf("known %t, want %t; rows (-want +got):\n%s", known, tc.known, diff)
			}
		})
	}
}
