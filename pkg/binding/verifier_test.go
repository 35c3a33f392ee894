package binding_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
)

// verifying makes an offer ask for verification, by an operator that has an image for it.
func verifying(offer *binding.Offer, mode v1alpha1.VerificationMode) *binding.Offer {
	offer.Placement.Spec.Verification = &v1alpha1.Verification{Mode: mode}
	offer.VerifierImage = "example.com/node-agent:1"
	return offer
}

func names(containers []corev1.Container) []string {
	var all []string
	for i := range containers {
		all = append(all, containers[i].Name)
	}
	return all
}

func hasKey(c *corev1.Container) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == verification.KeyFolder })
}

func TestVerifierComesFirst(t *testing.T) {
	pod := jobPod(1)
	pod.Spec.InitContainers = []corev1.Container{{Name: "fetch"}}
	offer := verifying(offerOf(v1alpha1.EnforcementAdvisory), v1alpha1.VerificationRequire)
	if _, err := binding.Admit(pod, offer); err != nil {
		t.Fatal(err)
	}
	if got := names(pod.Spec.InitContainers); !slices.Equal(got, []string{verification.Container, "fetch"}) {
		t.Fatalf("init containers %v, want the verifier before the pod's own", got)
	}
	c := &pod.Spec.InitContainers[0]
	if c.Image != offer.VerifierImage || !slices.Equal(c.Args, []string{"verify-mesh"}) || !*c.SecurityContext.RunAsNonRoot || len(c.Resources.Limits) != 1 {
		t.Errorf("container %+v", c)
	}
	mounts := map[string]bool{}
	for _, m := range c.VolumeMounts {
		mounts[m.MountPath] = m.ReadOnly
	}
	if diff := cmp.Diff(map[string]bool{launch.Folder: true, verification.KeyFolder: true}, mounts); diff != "" {
		t.Errorf("mounts, and whether they are read-only (-want +got):\n%s", diff)
	}
	if hasKey(&pod.Spec.InitContainers[1]) || hasKey(&pod.Spec.Containers[0]) {
		t.Error("another container has the mesh's key")
	}
	if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "RANKWRIGHT_INDEX" }) {
		t.Errorf("environment %+v lacks the pod's index", c.Env)
	}

	// Another webhook puts a container before the verifier, and ours is called again.
	again := pod.DeepCopy()
	slices.Reverse(again.Spec.InitContainers)
	if _, err := binding.Admit(again, offer); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pod.Spec, again.Spec); diff != "" {
		t.Errorf("admitted twice (-once +twice):\n%s", diff)
	}
}

func TestVerifierIsAdmittedBeforeTheMesh(t *testing.T) {
	pod := asking(jobPod(0), gpu, 2)
	if _, err := binding.Admit(pod, verifying(withoutMesh(v1alpha1.EnforcementAdvisory), v1alpha1.VerificationReport)); err != nil {
		t.Fatal(err)
	}
	if got := names(pod.Spec.InitContainers); !slices.Equal(got, []string{verification.Container}) {
		t.Errorf("init containers %v", got)
	}
}

func TestPodsThatVerifyByThemselves(t *testing.T) {
	pod := jobPod(0)
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: verification.Container, Image: "mine"})
	if _, err := binding.Admit(pod, verifying(offerOf(v1alpha1.EnforcementAdvisory), v1alpha1.VerificationReport)); err != nil {
		t.Fatal(err)
	}
	if own := &pod.Spec.Containers[1]; len(pod.Spec.InitContainers) != 0 || own.Image != "mine" || !hasKey(own) {
		t.Errorf("init containers %v, own container %+v", names(pod.Spec.InitContainers), own)
	}
}

func TestVerifierWithTheHostsNetworkTakesNoPort(t *testing.T) {
	pod := jobPod(0)
	pod.Spec.HostNetwork = true
	if _, err := binding.Admit(pod, verifying(offerOf(v1alpha1.EnforcementAdvisory), v1alpha1.VerificationReport)); err != nil {
		t.Fatal(err)
	}
	if ports := pod.Spec.InitContainers[0].Ports; len(ports) != 0 {
		t.Errorf("ports %v: two copies could not be on a node", ports)
	}
}

func TestNoVerifier(t *testing.T) {
	off := verifying(offerOf(v1alpha1.EnforcementAdvisory), v1alpha1.VerificationOff)
	pod := jobPod(0)
	if warnings, err := binding.Admit(pod, off); err != nil || len(warnings) > 0 || len(pod.Spec.InitContainers) > 0 {
		t.Errorf("Off: %v, %v, %v", warnings, err, names(pod.Spec.InitContainers))
	}
	none := verifying(offerOf(v1alpha1.EnforcementAdvisory), v1alpha1.VerificationReport)
	none.VerifierImage = ""
	pod = jobPod(0)
	if warnings, err := binding.Admit(pod, none); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "--verifier-image") || len(pod.Spec.InitContainers) > 0 {
		t.Errorf("Report without an image: %v, %v, %v", warnings, err, names(pod.Spec.InitContainers))
	}
	none.Placement.Spec.Verification.Mode = v1alpha1.VerificationRequire
	var refusal *binding.Refusal
	if _, err := binding.Admit(jobPod(0), none); !errors.As(err, &refusal) || refusal.Reason != binding.ReasonVerifierMissing {
		t.Errorf("Require without an image: %v", err)
	}
}

// With the annotation, the container that gets the devices is run as a verifier first, with the programs from a volume.
func TestVerifierOfDevices(t *testing.T) {
	pod := asking(jobPod(1), gpu, 2)
	pod.Annotations = map[string]string{binding.AnnotationVerifyDevices: "true"}
	engine := &pod.Spec.Containers[0]
	engine.Image, engine.Command, engine.Args = "example.com/vllm:1", []string{"vllm"}, []string{"serve"}
	engine.Env = []corev1.EnvVar{{Name: "NCCL_IB_HCA", Value: "mlx5"}}
	engine.VolumeMounts = []corev1.VolumeMount{{Name: "shm", MountPath: "/dev/shm"}}
	engine.LivenessProbe = &corev1.Probe{}
	engine.SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"IPC_LOCK"}}}
	offer := verifying(offerOf(v1alpha1.EnforcementAdvisory), v1alpha1.VerificationRequire)
	if _, err := binding.Admit(pod, offer); err != nil {
		t.Fatal(err)
	}
	if got := names(pod.Spec.InitContainers); !slices.Equal(got, []string{"rankwright-verify-programs", verification.Container}) {
		t.Fatalf("init containers %v, want the programs before the verifier", got)
	}
	programs, c := &pod.Spec.InitContainers[0], &pod.Spec.InitContainers[1]
	if programs.Image != offer.VerifierImage || programs.Args[1] != "install" || len(programs.Ports) != 0 || hasKey(programs) {
		t.Errorf("programs %+v", programs)
	}
	if c.Image != "example.com/vllm:1" || !slices.Equal(c.Command, []string{programs.Args[2] + "/node-agent"}) || !slices.Equal(c.Args, []string{"verify-mesh"}) {
		t.Errorf("verifier runs %s %v %v", c.Image, c.Command, c.Args)
	}
	if diff := cmp.Diff(pod.Spec.Containers[0].Resources, c.Resources); diff != "" {
		t.Errorf("devices (-engine +verifier):\n%s", diff)
	}
	if c.LivenessProbe != nil || !hasKey(c) || c.SecurityContext.Capabilities.Add[0] != "IPC_LOCK" || len(c.Ports) != 1 {
		t.Errorf("verifier %+v", c)
	}
	for _, path := range []string{"/dev/shm", programs.Args[2], launch.Folder} {
		if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == path }) {
			t.Errorf("the verifier has no mount at %s", path)
		}
	}
	if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "NCCL_IB_HCA" }) || hasKey(&pod.Spec.Containers[0]) {
		t.Errorf("environment %+v", c.Env)
	}
	again := pod.DeepCopy()
	if _, err := binding.Admit(again, offer); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pod.Spec, again.Spec); diff != "" {
		t.Errorf("admitted twice (-once +twice):\n%s", diff)
	}
}
