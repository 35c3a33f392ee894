//go:build linux

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// wanting ends the spec of a pod template with the probe, which asks for CPUs and a device.
const wanting = `
      terminationGracePeriodSeconds: 0
      automountServiceAccountToken: false
      containers:
      - {name: probe, image: "` + probeImage + `", imagePullPolicy: Never, args: [hold], resources: {requests: {cpu: ASKED}, limits: {RESOURCE: 1}}}
`

// Placements go where the scheduler can put their pods, which wait for them: with the CPUs of two nodes taken to the third, with all taken
// nowhere until some are free again. The pods run there.
func TestPodsGoWhereThereIsRoom(t *testing.T) {
	s := on(t)
	s.spread(t)
	node := s.awaitNode(t, s.Nodes[0].Name, func(*corev1.Node) bool { return true })
	asked := *resource.NewMilliQuantity(node.Status.Allocatable.Cpu().MilliValue()*6/10, resource.DecimalSI)
	taking := func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: asked}
	}
	for name, at := range map[string]func(*corev1.Pod){"stranger": at(s.Nodes[0].Name), "neighbour": at(s.Nodes[2].Name)} {
		s.mustBe(t, s.create(t, probePod(name, "hold", at, taking)), running)
	}
	defer func() {
		if t.Failed() {
			t.Log(s.ControlPlane.Kubectl(t, "describe", "modelplacements,statefulsets,pods"))
		}
	}()
	// Neither is asked for yet, and their pods wait. They go together: while a StatefulSet is there its pod comes back.
	one := oneDeviceEach + wanting
	s.applyText(t, strings.ReplaceAll(one, "NAME", "early")+"---\n"+strings.ReplaceAll(one, "NAME", "late"), "COPIES", "1",
		"FIELDS", "devices: {families: [GPU]}\n  suspend: true", "ASKED", asked.String(), "RESOURCE", served[0].resource)
	for _, pod := range []string{"early-0", "late-0"} {
		s.mustBe(t, podNamed(pod), func(pod *corev1.Pod) (bool, error) { return pod != nil, nil })
	}
	resume := func(name string) { s.change(t, placements, name, `{"spec":{"suspend":false}}`) }
	runsOn := func(pod, node string) {
		if got := s.mustBe(t, podNamed(pod), running).Spec.NodeName; got != node {
			t.Errorf("pod %s is on %s, want %s", pod, got, node)
		}
	}
	resume("early")
	runsOn("early-0", s.Nodes[1].Name)
	resume("late")
	refused := awaitAs(t, s.objects.Resource(placements).Namespace(metav1.NamespaceDefault), "late", func(p *v1alpha1.ModelPlacement) bool {
		placed := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPlaced)
		return placed != nil && strings.Contains(placed.Message, "CPU that each pod asks for")
	})
	step("%s", meta.FindStatusCondition(refused.Status.Conditions, v1alpha1.ConditionPlaced).Message)
	s.remove(t, metav1.NamespaceDefault, "stranger")
	runsOn("late-0", s.Nodes[0].Name)
}
