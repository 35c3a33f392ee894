package binding_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// launched is a placement of two copies, each of two stages on two nodes, with its launchers' files.
func launched(t *testing.T, asked *v1alpha1.Launch) (*binding.Offer, *launch.Bundle) {
	t.Helper()
	plan := v1alpha1.ShardingPlanSpec{
		Engine: v1alpha1.EngineTorch, Enforcement: v1alpha1.EnforcementAdvisory,
		Strategy: v1alpha1.Strategy{Tensor: 2, Pipeline: 2, Data: 1, Expert: 1, Context: 1, Replicas: 2},
		Stages:   []v1alpha1.Stage{{LastLayer: 1}, {FirstLayer: 2, LastLayer: 3}},
		Model:    v1alpha1.PlannedModel{Architecture: v1alpha1.Architecture{Layers: 4}},
	}
	for row := range int32(4) {
		devices := []v1alpha1.DeviceID{v1alpha1.DeviceID(fmt.Sprintf("nvidia-%d", row)), v1alpha1.DeviceID(fmt.Sprintf("nvidia-%d", row+4))}
		plan.Nodes = append(plan.Nodes, v1alpha1.PlanRow{Node: fmt.Sprintf("n%d", row%3), Replica: row / 2, Stage: row % 2, Devices: devices})
	}
	spec, err := mesh.FromPlan("llm-1", &plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	options, err := launch.OptionsOf(asked)
	if err != nil {
		t.Fatal(err)
	}
	job, err := launch.NewJob(&plan, spec, options)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := job.Write("")
	if err != nil {
		t.Fatal(err)
	}
	return &binding.Offer{
		Placement: &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm"}, Spec: v1alpha1.ModelPlacementSpec{Launch: asked}},
		Plan:      &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Name: "llm-1"}, Spec: plan},
		Mesh:      &v1alpha1.DeviceMesh{ObjectMeta: metav1.ObjectMeta{Name: "llm"}, Spec: *spec},
		Resource:  func(string, v1alpha1.DeviceID) string { return gpu },
	}, bundle
}

// What a bound pod mounts and refers to is what is written for it: the ConfigMaps by their names, and in them the file of its
// index, for its ranks on its node.
func TestPodsFindTheirFiles(t *testing.T) {
	for size, devices := range map[string]*int32{"all": nil, "1": new(int32(1)), "2": new(int32(2))} {
		t.Run(size, func(t *testing.T) {
			offer, bundle := launched(t, &v1alpha1.Launch{Hosts: "llm-{pod}.llm", DevicesPerPod: devices})
			parts, err := bundle.ConfigMaps()
			if err != nil {
				t.Fatal(err)
			}
			written := map[string]map[string]string{}
			for part, data := range parts {
				written[launch.ConfigMapName(offer.Mesh.Name, part)] = data
			}
			for _, want := range bundle.Pods {
				pod := admitted(t, jobPod(want.Pod), offer)
				if got := pod.Annotations[binding.AnnotationDevicesPerPod]; got != size {
					t.Errorf("pod %d notes %q devices, want %q", want.Pod, got, size)
				}
				place, err := binding.Bind(pod, offer)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want.Ranks, place.Ranks); diff != "" || place.Node != want.Node || place.Copy != want.Copy {
					t.Errorf("pod %d is bound to %+v and its files are for %+v", want.Pod, place, want)
				}
				mounted := filesOf(t, pod, written)
				own := path.Join(variableOf(t, pod, launch.VariableFolder), "pod-"+variableOf(t, pod, launch.VariableIndex)+".env")
				for next := own; next != ""; next = readNext(mounted[next]) {
					if mounted[next] == "" {
						t.Errorf("pod %d reads %s, which is not mounted", want.Pod, next)
					}
				}
				if text := mounted[own]; !strings.Contains(text, fmt.Sprintf("export GROUP_RANK='%d'\n", want.Worker)) {
					t.Errorf("pod %d starts with\n%s", want.Pod, text)
				}
			}
			if _, err := binding.Admit(jobPod(len(bundle.Pods)), offer); reasonOf(t, err) != binding.ReasonIndexOutOfRange {
				t.Errorf("a pod without files: %v", err)
			}
		})
	}
}

// filesOf are the files that the model's container has, by path.
func filesOf(t *testing.T, pod *corev1.Pod, written map[string]map[string]string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, volume := range pod.Spec.Volumes {
		for _, mount := range pod.Spec.Containers[0].VolumeMounts {
			if mount.Name != volume.Name {
				continue
			}
			for _, source := range volume.Projected.Sources {
				data, there := written[source.ConfigMap.Name]
				if !there && (source.ConfigMap.Optional == nil || !*source.ConfigMap.Optional) {
					t.Errorf("pod %s waits for ConfigMap %s, which nobody writes", pod.Name, source.ConfigMap.Name)
				}
				for key, content := range data {
					files[path.Join(mount.MountPath, key)] = content
				}
			}
		}
	}
	return files
}

// variableOf is a variable of the model's container as the kubelet resolves it.
func variableOf(t *testing.T, pod *corev1.Pod, name string) string {
	t.Helper()
	for _, e := range pod.Spec.Containers[0].Env {
		if e.Name != name {
			continue
		}
		if e.ValueFrom == nil {
			return e.Value
		}
		for prefix, values := range map[string]map[string]string{"metadata.labels['": pod.Labels, "metadata.annotations['": pod.Annotations} {
			if key, found := strings.CutPrefix(e.ValueFrom.FieldRef.FieldPath, prefix); found {
				return values[strings.TrimSuffix(key, "']")]
			}
		}
	}
	t.Fatalf("the container has no variable %s", name)
	return ""
}

// readNext is the file that a file reads first; empty where it reads none.
func readNext(content string) string {
	first, _, _ := strings.Cut(content, "\n")
	next, _ := strings.CutPrefix(first, ". ")
	if next == first {
		return ""
	}
	return next
}
