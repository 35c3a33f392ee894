//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/e2e/probe/report"
)

var jobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}

// The ranks of examples/allreduce, and how many each of three nodes has.
const (
	ranks   = 6
	perNode = 2
)

// The example runs to its end as it is, but for its image: its pods wait for the plan, run on its nodes with its devices, verify
// the mesh, meet over the pod network by the names of their files, and add up in all their process groups.
func TestMeshJobAddsUp(t *testing.T) {
	s := on(t)
	s.spread(t)
	seen := s.watchPods(t, "allreduce")
	began := time.Now()
	s.applyExample(t)
	job := s.awaitJob(t, "allreduce", func(j *batchv1.Job) bool { return j.Status.Succeeded == ranks || j.Status.Failed > 0 })
	took := time.Since(began)
	pods := s.podsOf(t, "allreduce", ranks)
	if job.Status.Failed > 0 {
		s.explain(t)
		for _, pod := range pods {
			t.Logf("%s: %s", pod.Name, s.logOf(t, pod))
		}
		t.Fatalf("the Job: %s", describe(job.Status))
	}
	step("%d pods of a Job on %d nodes: %.1f s from apply to the last one's end; the last of them was %s",
		ranks, len(s.Nodes), took.Seconds(), seen.since(began))
	if verdict, findings := s.awaitVerdict(t, "allreduce"); verdict.Status != metav1.ConditionTrue {
		t.Errorf("the mesh is not verified: %s: %s; findings %s", verdict.Reason, verdict.Message, describe(findings))
	}
	places := s.placesOf(t, "allreduce")
	for index, pod := range pods {
		place := &places[index]
		seen.boundTo(t, pod, place.Node)
		sight, lines := s.startOf(t, pod)
		checkSight(t, s.inventory(t, place.Node), place.Devices, sight)
		if devices := sight.Environment[launch.VariableDevices]; devices != string(place.Devices[0]) {
			t.Errorf("rank %d is told %s, and its plan says %s", index, devices, place.Devices[0])
		}
		step("%s", lines)
		for _, want := range []string{
			fmt.Sprintf("rank %d on %s: ", index, place.Node),
			"dp " + sumOf(index%perNode, index%perNode+perNode, index%perNode+2*perNode),
			"tp " + sumOf(index/perNode*perNode, index/perNode*perNode+1),
			"world " + sumOf(0, 1, 2, 3, 4, 5),
		} {
			if !strings.Contains(lines, want) {
				t.Errorf("rank %d prints %q and not %q", index, lines, want)
			}
		}
	}
}

// sumOf is what a group of ranks adds up to: each adds its number plus one.
func sumOf(ranks ...int) string {
	sum := 0
	for _, rank := range ranks {
		sum += rank + 1
	}
	return fmt.Sprintf("%v sum %d,", ranks, sum)
}

// spread has all nodes play the same host, of which two devices are not cordoned, so that a placement of six must take three
// nodes, and installs the chart.
func (s *site) spread(t *testing.T) {
	t.Helper()
	s.spreadAs(t, func(node string, devices int64) {
		s.awaitNode(t, node, func(n *corev1.Node) bool { return offered(n, served[0].resource) == devices })
	})
}

// spreadAs is spread where the chart has further values, by which pods get so many devices of a node in another way.
func (s *site) spreadAs(t *testing.T, offers func(node string, devices int64), set ...string) {
	t.Helper()
	s.play(t, committed, "nvidia-h100-8", "nvidia-h100-8", "nvidia-h100-8")
	s.install(t, set...)
	all := served[0].count
	for _, node := range s.Nodes {
		offers(node.Name, all)
		inventory := s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return int64(len(i.Status.Devices)) == all })
		var surplus []v1alpha1.DeviceID
		for i := range inventory.Status.Devices[perNode:] {
			surplus = append(surplus, inventory.Status.Devices[perNode+i].ID)
		}
		s.cordon(t, node.Name, surplus...)
		t.Cleanup(func() { s.uncordon(t, node.Name) })
	}
	for _, node := range s.Nodes {
		offers(node.Name, perNode)
	}
}

// uncordon takes every device of a node into use again, after the test's context has ended.
func (s *site) uncordon(t *testing.T, node string) {
	t.Helper()
	patch := []byte(`{"spec":{"cordonedDevices":[]}}`)
	if _, err := s.objects.Resource(inventories).Patch(context.Background(), node, mergePatch, patch, metav1.PatchOptions{FieldManager: "an-administrator"}); err != nil {
		t.Error(err)
	}
}

// applyExample applies examples/allreduce, whose program tells before it starts what its container sees.
func (s *site) applyExample(t *testing.T) {
	t.Helper()
	objects, err := controlplane.ReadManifests("../../examples/allreduce/allreduce.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "Job":
			runProbeFirst(t, object)
		case "ModelPlacement":
			// Six pods on a few processors: how fast each link is says nothing.
			if err := unstructured.SetNestedField(object.Object, int64(0), "spec", "verification", "minimumSharePercent"); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.apply(t, objects...)
}

// runProbeFirst gives the Job the image of the test, in which the probe starts the program.
func runProbeFirst(t *testing.T, job *unstructured.Unstructured) {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(job.Object, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	container, isMap := containers[0].(map[string]any)
	if !isMap {
		t.Fatal("containers is no list of objects")
	}
	container["image"], container["imagePullPolicy"] = allreduceImage, string(corev1.PullNever)
	container["command"] = []any{"/probe", "start", "/allreduce"}
	if err := unstructured.SetNestedSlice(job.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		t.Fatal(err)
	}
}

// startOf is what a pod of the example saw and then printed.
func (s *site) startOf(t *testing.T, pod *corev1.Pod) (sight report.Sight, lines string) {
	t.Helper()
	first, rest, _ := strings.Cut(s.logOf(t, pod), "\n")
	if err := json.Unmarshal([]byte(first), &sight); err != nil {
		t.Fatalf("the log of pod %s: %v", pod.Name, err)
	}
	return sight, strings.TrimSpace(rest)
}

func (s *site) logOf(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	text, err := s.clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (s *site) inventory(t *testing.T, node string) *v1alpha1.AcceleratorInventory {
	t.Helper()
	return s.awaitInventory(t, node, func(*v1alpha1.AcceleratorInventory) bool { return true })
}
