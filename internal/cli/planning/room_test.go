package planning

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/test/plantest"
)

// Files with Nodes and pods are planned as the cluster would be: a node that a stranger's pod fills is left out.
func TestPlansFromFilesKeepOffFullNodes(t *testing.T) {
	cpus := func(n string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n), corev1.ResourcePods: resource.MustParse("9")}
	}
	host := plantest.Host("a", true, plantest.Times8(plantest.H100)...)
	host.Inventory.Name = "a"
	placement := plantest.Placement(8192, 16)
	placement.Spec.Model = v1alpha1.ModelSource{Name: new("Llama-3.1-8B")}
	placement.Spec.Launch = &v1alpha1.Launch{Requests: v1alpha1.Resources{"cpu": resource.MustParse("4")}}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}, Spec: corev1.PodSpec{NodeName: "a", Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("6")}}}}}}
	m := &Manifests{
		Inventories: []v1alpha1.AcceleratorInventory{*host.Inventory}, Placements: []v1alpha1.ModelPlacement{*placement},
		Nodes: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.NodeStatus{Allocatable: cpus("8")}}},
	}
	made, err := planAll(m, term.Streams{}, false)
	if err != nil || made[0].plan == nil {
		t.Fatalf("an empty node: %v, %v", err, made)
	}
	m.pods = []corev1.Pod{pod}
	made, err = planAll(m, term.Streams{}, false)
	if no := (*plan.Unplaceable)(nil); err != nil || !errors.As(made[0].failure, &no) || !strings.Contains(no.Message, "a with 2 CPU free") {
		t.Errorf("a full node: %v, %v", err, made[0].failure)
	}
}
