package binding_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
)

const gpu = "rankwright.dev/nvidia-gpu"

// offerOf is a placement of two copies on nodes a and b with two devices each on both.
func offerOf(enforcement v1alpha1.Enforcement) *binding.Offer {
	two := map[string]int{"a": 2, "b": 2}
	return &binding.Offer{
		Placement: &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm"}, Spec: v1alpha1.ModelPlacementSpec{Enforcement: enforcement}},
		Plan:      &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Name: "llm-1"}, Spec: v1alpha1.ShardingPlanSpec{Enforcement: enforcement}},
		Mesh:      &v1alpha1.DeviceMesh{Spec: *meshOf(rows(0, two, "a", "b"), rows(1, two, "a", "b"))},
		Resource:  func(string, v1alpha1.DeviceID) string { return gpu },
		Slot:      slotOf,
	}
}

// slotOf numbers the devices of a node: two of the first copy, then two of the second.
func slotOf(_ string, device v1alpha1.DeviceID) string {
	var replica, number int
	if _, err := fmt.Sscanf(string(device)[1:], "-%d-%d", &replica, &number); err != nil {
		return ""
	}
	return fmt.Sprint(v1alpha1.SlotPrefix, 2*replica+number)
}

const defaultContainer = "kubectl.kubernetes.io/default-container"

// launching is the offer of a placement whose devices a container of the name gets.
func launching(offer *binding.Offer, container string) *binding.Offer {
	offer.Placement.Spec.Launch = &v1alpha1.Launch{Container: container}
	return offer
}

// ofSize is the offer of a placement for pods of so many devices.
func ofSize(offer *binding.Offer, devices int32) *binding.Offer {
	offer.Placement.Spec.Launch = &v1alpha1.Launch{DevicesPerPod: &devices}
	return offer
}

// unslotted is an offer whose devices have no slots yet.
func unslotted() *binding.Offer {
	offer := offerOf(v1alpha1.EnforcementSlot)
	offer.Slot = func(string, v1alpha1.DeviceID) string { return "" }
	return offer
}

func withoutMesh(enforcement v1alpha1.Enforcement) *binding.Offer {
	offer := offerOf(enforcement)
	offer.Plan, offer.Mesh, offer.Resource = nil, nil, nil
	return offer
}

func jobPod(index int) *corev1.Pod {
	return podOf("", "Job", map[string]string{jobIndex: fmt.Sprint(index)})
}

func asking(pod *corev1.Pod, name string, count int64) *corev1.Pod {
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceName(name): *resource.NewQuantity(count, resource.DecimalSI)}
	return pod
}

// limitsOf writes the limits of the first container.
func limitsOf(pod *corev1.Pod) map[string]int64 {
	limits := map[string]int64{}
	for name, quantity := range pod.Spec.Containers[0].Resources.Limits {
		limits[string(name)] = quantity.Value()
	}
	return limits
}

// Pods of the workload that the placement names are its pods, and no others: a Job's of the name of a StatefulSet, or of a JobSet.
func TestAdmitTakesPodsOfTheWorkload(t *testing.T) {
	pods := map[string]func() *corev1.Pod{
		"StatefulSet": func() *corev1.Pod {
			pod := podOf("llm-0", "StatefulSet", map[string]string{"apps.kubernetes.io/pod-index": "0"})
			pod.OwnerReferences[0].APIVersion = "apps/v1"
			return pod
		},
		"Job": func() *corev1.Pod {
			pod := jobPod(0)
			pod.OwnerReferences[0].APIVersion = "batch/v1"
			return pod
		},
		"LeaderWorkerSet": func() *corev1.Pod {
			pod := annotated(podOf("llm-0", "StatefulSet", map[string]string{lws + "name": "llm"}), lws+"size", "2")
			pod.OwnerReferences[0].APIVersion = "apps/v1"
			return pod
		},
		"author": func() *corev1.Pod { return podOf("llm", "", map[string]string{binding.LabelIndex: "0"}) },
	}
	refs := map[string]v1alpha1.WorkloadReference{
		"StatefulSet":     {APIVersion: "apps/v1", Kind: "StatefulSet", Name: "llm"},
		"Job":             {APIVersion: "batch/v1", Kind: "Job", Name: "llm"},
		"LeaderWorkerSet": {APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet", Name: "llm"},
		"another name":    {APIVersion: "batch/v1", Kind: "Job", Name: "llm-2"},
		"another group":   {APIVersion: "batch.volcano.sh/v1", Kind: "Job", Name: "llm"},
	}
	for by, pod := range pods {
		for of, ref := range refs {
			offer := offerOf(v1alpha1.EnforcementAdvisory)
			offer.Placement.Spec.WorkloadRef = &ref
			_, err := binding.Admit(pod(), offer)
			want := binding.ReasonWorkloadDiffers
			if by == of {
				want = ""
			}
			if got := reasonOf(t, err); got != want {
				t.Errorf("a pod by %s under workloadRef %v is refused with %q, want %q", by, ref, got, want)
			}
		}
	}
}

// Pods get the placement's tolerations that they have not themselves, once.
func TestAdmitGivesTolerations(t *testing.T) {
	reserved := corev1.Toleration{Key: "example.com/reserved", Operator: corev1.TolerationOpEqual, Value: "llm", Effect: corev1.TaintEffectNoSchedule}
	own := corev1.Toleration{Key: "example.com/gpus", Operator: corev1.TolerationOpExists}
	offer := offerOf(v1alpha1.EnforcementAdvisory)
	offer.Placement.Spec.Devices = &v1alpha1.DeviceRequirements{Tolerations: []v1alpha1.Toleration{
		{Key: own.Key, Operator: string(own.Operator)}, {Key: reserved.Key, Operator: string(reserved.Operator), Value: "llm", Effect: string(reserved.Effect)},
	}}
	pod := jobPod(0)
	pod.Spec.Tolerations = []corev1.Toleration{own}
	for range 2 {
		if _, err := binding.Admit(pod, offer); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]corev1.Toleration{own, reserved}, pod.Spec.Tolerations); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAdmitGivesDevices(t *testing.T) {
	slot := v1alpha1.SlotPrefix
	tests := []struct {
		name   string
		offer  *binding.Offer
		pod    *corev1.Pod
		limits map[string]int64
		index  string
	}{
		{"all devices of the copy on the node", offerOf(v1alpha1.EnforcementAdvisory), jobPod(3), map[string]int64{gpu: 2}, "3"},
		{"that the pod asks for", offerOf(v1alpha1.EnforcementAdvisory), asking(jobPod(3), gpu, 2), map[string]int64{gpu: 2}, "3"},
		{"as many as the placement says", ofSize(offerOf(v1alpha1.EnforcementAdvisory), 1), jobPod(7), map[string]int64{gpu: 1}, "7"},
		{"slots of the second copy", offerOf(v1alpha1.EnforcementSlot), jobPod(3), map[string]int64{slot + "2": 1, slot + "3": 1}, "3"},
		{"one slot", ofSize(offerOf(v1alpha1.EnforcementSlot), 1), jobPod(5), map[string]int64{slot + "3": 1}, "5"},
		{"before there is a mesh", withoutMesh(v1alpha1.EnforcementAdvisory), asking(jobPod(3), gpu, 2), map[string]int64{gpu: 2}, "3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if warnings, err := binding.Admit(test.pod, test.offer); err != nil || len(warnings) > 0 {
				t.Fatal(err, warnings)
			}
			if diff := cmp.Diff(test.limits, limitsOf(test.pod)); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
			if got := test.pod.Labels[binding.LabelIndex]; got != test.index || !binding.Gated(test.pod) {
				t.Errorf("index %q, gates %v; want %q and ours", got, test.pod.Spec.SchedulingGates, test.index)
			}
		})
	}
}

func TestAdmitEquipsEveryContainer(t *testing.T) {
	pod := jobPod(0)
	pod.Spec.InitContainers = []corev1.Container{{Name: "verify", Image: "verify"}}
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
		Name: "side", Image: "side", Env: []corev1.EnvVar{{Name: "WHERE", Value: "$(RANKWRIGHT_MESH_DIR)/x"}, {Name: "RANKWRIGHT_INDEX", Value: "9"}},
	})
	if _, err := binding.Admit(pod, offerOf(v1alpha1.EnforcementAdvisory)); err != nil {
		t.Fatal(err)
	}
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		var names []string
		for _, e := range c.Env {
			names = append(names, e.Name)
		}
		text := strings.Join(names, " ")
		if !strings.HasPrefix(text, "RANKWRIGHT_PLACEMENT RANKWRIGHT_MESH_DIR ") || strings.Count(text, "RANKWRIGHT_INDEX") != 1 {
			t.Errorf("variables of %s: %s", c.Name, text)
		}
		if len(c.VolumeMounts) != 1 || c.VolumeMounts[0].MountPath != launch.Folder || !c.VolumeMounts[0].ReadOnly {
			t.Errorf("mounts of %s: %v", c.Name, c.VolumeMounts)
		}
	}
	sources := pod.Spec.Volumes[0].Projected.Sources
	if first := sources[0].ConfigMap; first.Name != "llm-mesh" || first.Optional != nil {
		t.Errorf("the pod does not wait for the files: %+v", first)
	}
	if second := sources[1].ConfigMap; second.Name != "llm-mesh-1" || second.Optional == nil || !*second.Optional {
		t.Errorf("the pod waits for files that need not be there: %+v", second)
	}
}

func TestAdmitRefuses(t *testing.T) {
	advisory := offerOf(v1alpha1.EnforcementAdvisory)
	nodeChosen := jobPod(0)
	nodeChosen.Spec.NodeName = "a"
	gatedByKueue := jobPod(0)
	gatedByKueue.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/topology"}}
	labelled := jobPod(0)
	labelled.Labels[binding.LabelIndex] = "1"
	tests := []struct {
		name   string
		offer  *binding.Offer
		pod    *corev1.Pod
		reason string
	}{
		{"no placement", &binding.Offer{}, jobPod(0), binding.ReasonPlacementMissing},
		{"no mesh, and the pod does not say what it needs", withoutMesh(v1alpha1.EnforcementAdvisory), jobPod(0), binding.ReasonMeshMissing},
		{"no mesh, whose slots have to stand in the pod", withoutMesh(v1alpha1.EnforcementSlot), asking(jobPod(0), gpu, 1), binding.ReasonMeshMissing},
		{"no mesh, of which the index depends", withoutMesh(v1alpha1.EnforcementAdvisory), asking(podOf("", "RayCluster", map[string]string{
			"ray.io/cluster": "llm", "ray.io/worker-group-replica-index": "1", "ray.io/replica-host-index": "2",
		}), gpu, 1), binding.ReasonMeshMissing},
		{"a node of its own", advisory, nodeChosen, binding.ReasonNodeChosen},
		{"Kueue's topology by gate", advisory, gatedByKueue, binding.ReasonTopologyByKueue},
		{"Kueue's topology by annotation", advisory, annotated(jobPod(0), "kueue.x-k8s.io/podset-required-topology", "rack"), binding.ReasonTopologyByKueue},
		{"no workload that numbers", advisory, podOf("", "ReplicaSet", nil), binding.ReasonWorkloadUnknown},
		{"index out of range", advisory, jobPod(4), binding.ReasonIndexOutOfRange},
		{"an index in the template", advisory, labelled, binding.ReasonIndexDiffers},
		{"a default container that is not there", advisory, annotated(jobPod(0), defaultContainer, "other"), binding.ReasonContainerUnknown},
		{"a container of the placement that is not there", launching(offerOf(v1alpha1.EnforcementAdvisory), "other"), jobPod(0), binding.ReasonContainerUnknown},
		{"devices that do not divide", ofSize(offerOf(v1alpha1.EnforcementAdvisory), 3), jobPod(0), binding.ReasonDevicesDiffer},
		{"other devices than the placement is for", advisory, annotated(jobPod(0), binding.AnnotationDevicesPerPod, "1"), binding.ReasonDevicesDiffer},
		{"limits that differ", advisory, asking(jobPod(0), gpu, 1), binding.ReasonDevicesDiffer},
		{"a slot of another place", offerOf(v1alpha1.EnforcementSlot), asking(jobPod(0), "rankwright.dev/slot-2", 1), binding.ReasonDevicesDiffer},
		{"slots that are not written yet", unslotted(), jobPod(0), binding.ReasonSlotMissing},
		{"an enforcement without pods", offerOf(v1alpha1.EnforcementExclusive), jobPod(0), binding.ReasonEnforcementUnknown},
		{"no mesh, whose claim has to stand in the pod", withoutMesh(v1alpha1.EnforcementClaim), asking(jobPod(0), "example.com/nic", 1), binding.ReasonMeshMissing},
		{"a resource beside the claim", offerOf(v1alpha1.EnforcementClaim), asking(jobPod(0), gpu, 2), binding.ReasonDevicesDiffer},
		{"the claim of another place", offerOf(v1alpha1.EnforcementClaim), claiming(jobPod(0), "llm-1-1"), binding.ReasonClaimDiffers},
		{"a claim where devices come by resources", advisory, claiming(jobPod(0), "llm-1-0"), binding.ReasonClaimDiffers},
		{"a claim from a template", offerOf(v1alpha1.EnforcementClaim), claiming(jobPod(0), ""), binding.ReasonClaimDiffers},
		{"more devices than a claim can have", manyDevices(33), jobPod(0), binding.ReasonDevicesDiffer},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := binding.Admit(test.pod, test.offer); reasonOf(t, err) != test.reason {
				t.Errorf("%v, want reason %s", err, test.reason)
			}
		})
	}
}

func TestAdmitLeavesPodsOfTheirAuthor(t *testing.T) {
	pod := podOf("a", "", map[string]string{v1alpha1.LabelPlan: "llm-1"})
	before := pod.DeepCopy()
	if _, err := binding.Admit(pod, offerOf(v1alpha1.EnforcementSlot)); err != nil || !cmp.Equal(before, pod) {
		t.Errorf("%v:\n%s", err, cmp.Diff(before, pod))
	}
}

func TestAdmitWarnsOfDevicesThatNobodyServes(t *testing.T) {
	offer := offerOf(v1alpha1.EnforcementAdvisory)
	offer.Resource = func(string, v1alpha1.DeviceID) string { return "" }
	pod := jobPod(0)
	warnings, err := binding.Admit(pod, offer)
	if err != nil || len(warnings) != 1 || !strings.HasPrefix(warnings[0], "2 of the 2 devices on node a") || len(limitsOf(pod)) > 0 {
		t.Errorf("warnings %q, %v, limits %v", warnings, err, limitsOf(pod))
	}
}

// drawPod makes a pod that may be admitted.
func drawPod(t *rapid.T) *corev1.Pod {
	pod := []func() *corev1.Pod{
		func() *corev1.Pod { return jobPod(rapid.IntRange(0, 3).Draw(t, "index")) },
		func() *corev1.Pod {
			return podOf(fmt.Sprintf("llm-%d", rapid.IntRange(0, 3).Draw(t, "ordinal")), "StatefulSet", nil)
		},
		func() *corev1.Pod { return podOf("a", "", map[string]string{binding.LabelIndex: "1"}) },
	}[rapid.IntRange(0, 2).Draw(t, "workload")]()
	for i := range rapid.IntRange(0, 2).Draw(t, "sidecars") {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: fmt.Sprintf("side-%d", i), Env: []corev1.EnvVar{{Name: "A", Value: "b"}}})
	}
	if rapid.Bool().Draw(t, "asks") {
		asking(pod, gpu, int64(rapid.IntRange(1, 2).Draw(t, "devices")))
	}
	if rapid.Bool().Draw(t, "has a gate") {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}
	}
	if rapid.Bool().Draw(t, "has a volume") {
		pod.Spec.Volumes = []corev1.Volume{{Name: "data"}}
	}
	return pod
}

// Admission may come again after other webhooks: then it changes nothing, unless they added a container, which it equips
// without touching the rest.
func TestAdmitTwiceIsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offers := []*binding.Offer{
			offerOf(v1alpha1.EnforcementAdvisory), offerOf(v1alpha1.EnforcementSlot), offerOf(v1alpha1.EnforcementClaim), withoutMesh(v1alpha1.EnforcementAdvisory),
		}
		offer := rapid.SampledFrom(offers).Draw(t, "offer")
		if rapid.Bool().Draw(t, "pods of one device") {
			ofSize(offer, 1)
		}
		once := drawPod(t)
		if _, err := binding.Admit(once, offer); err != nil {
			return
		}
		twice := decoded(t, once)
		if rapid.Bool().Draw(t, "a sidecar comes first") {
			twice.Spec.Containers = append([]corev1.Container{{Name: "injected"}}, twice.Spec.Containers...)
		}
		injected := len(twice.Spec.Containers) - len(once.Spec.Containers)
		if _, err := binding.Admit(twice, offer); err != nil {
			t.Fatal(err)
		}
		if injected > 0 && (len(twice.Spec.Containers[0].Env) == 0 || len(twice.Spec.Containers[0].Resources.Limits)+len(twice.Spec.Containers[0].Resources.Claims) > 0) {
			t.Fatalf("the sidecar got %+v", twice.Spec.Containers[0])
		}
		twice.Spec.Containers = twice.Spec.Containers[injected:]
		if diff := cmp.Diff(decoded(t, once), decoded(t, twice)); diff != "" {
			t.Fatalf("the second time changed (-once +twice):\n%s", diff)
		}
	})
}

// decoded is a pod as the API server sends it.
func decoded(t *rapid.T, pod *corev1.Pod) *corev1.Pod {
	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	read := &corev1.Pod{}
	if err := json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	return read
}
