package operator

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
	"github.com/rankwright/rankwright/test/operation"
)

// verifiable is placement llm of four pods of a device each, whose mesh is to be verified.
func (w world) verifiable(mode v1alpha1.VerificationMode) {
	w.Helper()
	w.Must(client.IgnoreNotFound(w.Delete(w.Context(), keySecret())))
	w.addNode("n1", 4)
	p := w.PlacementOf("llm", 4, 1)
	p.Spec.Launch = &v1alpha1.Launch{Hosts: "llm-{pod}.llm", DevicesPerPod: new(int32(1))}
	p.Spec.Verification = &v1alpha1.Verification{Mode: mode, DeadlineSeconds: 60}
	w.place(p)
	w.awaitPlan("llm", "llm-1")
}

func keySecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: verification.SecretName("llm")}}
}

// runVerifying makes a bound pod that verifies, and says that it began at a time.
func (w world) runVerifying(index int, began time.Time) *corev1.Pod {
	w.Helper()
	pod := w.runPod(fmt.Sprintf("llm-%d", index), map[string]string{
		v1alpha1.LabelPlacement: "llm", v1alpha1.LabelPlan: "llm-1", binding.LabelIndex: fmt.Sprint(index),
	})
	w.setVerifier(pod, began, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	return pod
}

// setVerifier writes the state of a pod's verifying container as its kubelet does.
func (w world) setVerifier(pod *corev1.Pod, began time.Time, state corev1.ContainerState) {
	w.Helper()
	at := metav1.NewTime(began)
	w.Change(pod, func() {
		pod.Status.StartTime = &at
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: verification.Container, Image: "i", State: state}}
	})
}

// says ends a pod's verification with a message.
func (w world) says(pod *corev1.Pod, began time.Time, message string) {
	w.Helper()
	w.setVerifier(pod, began, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", Message: message}})
}

func reportOf(pod int, more string) string {
	outcome := "Verified"
	if more != "" {
		outcome = "Failed"
	}
	return fmt.Sprintf(`{"v":1,"plan":"llm-1","copy":0,"pod":%d,"outcome":%q,"groups":[{"kind":"tp","n":1,"mbps":%d,"us":120}]%s}`, pod, outcome, 900+pod, more)
}

// awaitVerified waits until mesh llm says of its verification what is expected.
func (w world) awaitVerified(reason string) (*v1alpha1.DeviceMesh, *metav1.Condition) {
	w.Helper()
	mesh := &v1alpha1.DeviceMesh{}
	var c *metav1.Condition
	w.Eventually("the mesh's verification says "+reason, func(ctx context.Context) bool {
		if w.Get(ctx, client.ObjectKey{Namespace: testNamespace, Name: "llm"}, mesh) != nil {
			return false
		}
		c = meta.FindStatusCondition(mesh.Status.Conditions, v1alpha1.ConditionVerified)
		return c != nil && c.Reason == reason
	})
	return mesh, c
}

func (w world) awaitTask(holds func(*verification.Task) bool) {
	w.Helper()
	w.Eventually("the pods' task is as it should be", func(ctx context.Context) bool {
		text, there := w.files(ctx).Data[verification.File(0)]
		if !there {
			return false
		}
		task, err := verification.ParseTask([]byte(text))
		w.Must(err)
		return holds(task)
	})
}

func (w world) operateCounting() *prometheus.Registry {
	w.Helper()
	registry := prometheus.NewRegistry()
	w.RunOperator(operator.Options{Planner: operation.FirstFit, Registry: registry})
	return registry
}

func TestMeshIsVerifiedByItsPods(t *testing.T) {
	w := newWorld(t, wholeCluster)
	registry := w.operateCounting()
	w.verifiable(v1alpha1.VerificationRequire)
	secret := keySecret()
	w.Eventually("the mesh has a key", func(ctx context.Context) bool { return w.Get(ctx, client.ObjectKeyFromObject(secret), secret) == nil })
	if len(secret.Data[verification.KeyFile]) != 32 || !metav1.IsControlledBy(secret, w.mesh()) || secret.Immutable == nil || !*secret.Immutable {
		t.Errorf("secret of %v with %d keys", secret.OwnerReferences, len(secret.Data))
	}

	_, c := w.awaitVerified(verification.ReasonPending)
	if c.Status != metav1.ConditionUnknown || !strings.Contains(c.Message, "0 of 4 pods") || !strings.Contains(c.Message, "there is no such pod") {
		t.Errorf("condition %+v", c)
	}
	w.read("llm")
	w.awaitTask(func(task *verification.Task) bool {
		return task.Require && !task.Concluded && task.DeadlineSeconds == 60 && len(task.Pods) == 4 && task.Pods[3].Address() == "llm-3.llm:28765"
	})
	now := time.Now()
	pods := make([]*corev1.Pod, 4)
	for i := range pods {
		pods[i] = w.runVerifying(i, now)
	}
	for i, pod := range pods {
		w.says(pod, now, reportOf(i, ""))
	}
	mesh, c := w.awaitVerified(verification.ReasonAllGroupsVerified)
	if c.Status != metav1.ConditionTrue || len(mesh.Status.Findings) > 0 || len(mesh.Status.Verified) != 1 {
		t.Fatalf("condition %+v, status %+v", c, mesh.Status)
	}
	if got := mesh.Status.Verified[0]; got.Group != "tp" || got.MBps != 900 || got.LatencyMicros != 120 || got.Time.IsZero() {
		t.Errorf("bandwidth %+v, want that of the slowest pod", got)
	}
	if ready := meta.FindStatusCondition(mesh.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Status != metav1.ConditionTrue {
		t.Errorf("the mesh's other conditions became %+v", mesh.Status.Conditions)
	}
	w.awaitEvents(verification.ReasonAllGroupsVerified)
	w.awaitTask(func(task *verification.Task) bool { return task.Concluded })
	w.awaitMetric(registry, "rankwright_mesh_verification_outcome", 1)
	w.awaitMetric(registry, "rankwright_mesh_verification_bandwidth_bytes_per_second", 900e6)
	if n := w.Measured(registry, `rankwright_placement_step_duration_seconds{step="verify"}`); n != 1 {
		t.Errorf("%v verifications were timed, want 1", n)
	}

	// What was reported before it was asked for anew does not count, and pods that are made anew find that it is not over.
	anew := metav1.NewTime(c.LastTransitionTime.Add(time.Second))
	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.Verification.NotBefore = &anew })
	if _, c = w.awaitVerified(verification.ReasonPending); !strings.Contains(c.Message, "0 of 4 pods") {
		t.Errorf("condition %+v", c)
	}
	w.awaitTask(func(task *verification.Task) bool { return !task.Concluded })
	w.Eventually("the time has come", func(context.Context) bool { return time.Now().After(anew.Time) })
	for i, pod := range pods {
		w.setVerifier(pod, anew.Time, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: reportOf(i, ""), FinishedAt: anew}})
	}
	w.awaitVerified(verification.ReasonAllGroupsVerified)
	w.awaitTask(func(task *verification.Task) bool { return task.Concluded })

	// A placement that no longer asks for verification has none in the status.
	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.Verification.Mode = v1alpha1.VerificationOff })
	w.Eventually("nothing is said of a verification", func(ctx context.Context) bool {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(mesh), mesh))
		return meta.FindStatusCondition(mesh.Status.Conditions, v1alpha1.ConditionVerified) == nil && len(mesh.Status.Verified) == 0
	})
	w.Eventually("the task is gone", func(ctx context.Context) bool {
		_, there := w.files(ctx).Data[verification.File(0)]
		return !there
	})
}

// awaitMetric waits until the only series of a metric has a value.
func (w world) awaitMetric(registry *prometheus.Registry, name string, want float64) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%s is %v", name, want), func(context.Context) bool {
		families, err := registry.Gather()
		w.Must(err)
		for _, f := range families {
			if f.GetName() == name && len(f.GetMetric()) == 1 && f.GetMetric()[0].GetGauge().GetValue() == want {
				return true
			}
		}
		return false
	})
}

func TestBrokenAndSlowLinksAreNamed(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.verifiable(v1alpha1.VerificationReport)
	now := time.Now()
	for i, more := range []string{
		`,"findings":[{"reason":"LinkSlow","peer":3,"mbps":12,"expected":900}]`,
		`,"findings":[{"reason":"LinkBroken","peer":2,"text":"connect: i/o timeout"}]`,
		`,"findings":[{"reason":"LinkBroken","peer":1,"text":"connect: i/o timeout"}]`, "",
	} {
		w.says(w.runVerifying(i, now), now, reportOf(i, more))
	}
	mesh, c := w.awaitVerified("LinkBroken")
	if c.Status != metav1.ConditionFalse || len(mesh.Status.Findings) != 2 {
		t.Fatalf("condition %+v, findings %+v", c, mesh.Status.Findings)
	}
	broken, slow := mesh.Status.Findings[0], mesh.Status.Findings[1]
	if broken.Pod.Name != "llm-1" || broken.Peer.Name != "llm-2" || broken.Pod.Node != "n1" || broken.Peer.FirstRank != 2 || broken.Pod.Devices[0] != operation.DeviceID(1) {
		t.Errorf("finding %+v, want the link of pods 1 and 2 with node, rank and device", broken)
	}
	if slow.Reason != v1alpha1.FindingLinkSlow || slow.Pod.Index != 0 || slow.Peer.Index != 3 || slow.MBps != 12 || slow.ExpectedMBps != 900 {
		t.Errorf("finding %+v", slow)
	}
	w.awaitEvents("LinkBroken", "LinkSlow")
	// The pods have started: a pod that comes back finds nobody to verify with.
	w.awaitTask(func(task *verification.Task) bool { return task.Concluded && !task.Require })
}

// At the deadline pods that said nothing are named, although no other pod named them.
func TestMissingPodsAreNamedAtTheDeadline(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.verifiable(v1alpha1.VerificationRequire)
	began := time.Now().Add(-time.Hour)
	w.says(w.runVerifying(0, began), began, reportOf(0, `,"findings":[{"reason":"LinkBroken","peer":2}]`))
	w.says(w.runVerifying(1, began), began, "not a report")
	w.runVerifying(2, began)
	w.awaitVerified(verification.ReasonPodsMissing)
	const want = "PodMissing 2 llm-2, PodMissing 3 , ReportInvalid 1 llm-1"
	w.Eventually("the findings are "+want, func(context.Context) bool {
		var found []string
		for _, f := range w.mesh().Status.Findings {
			found = append(found, fmt.Sprintf("%s %d %s", f.Reason, f.Pod.Index, f.Pod.Name))
		}
		return strings.Join(found, ", ") == want
	})

	// Under Require the pods begin again, and what they say then counts.
	for i := range 4 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: fmt.Sprintf("llm-%d", i)}}
		if i == 3 {
			pod = w.runVerifying(i, began)
		}
		w.says(pod, began, reportOf(i, ""))
	}
	w.awaitVerified(verification.ReasonAllGroupsVerified)
}

// A pod that speaks for another one is not heard.
func TestAPodSpeaksForItselfAlone(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.verifiable(v1alpha1.VerificationRequire)
	now := time.Now()
	for i := range 4 {
		w.says(w.runVerifying(i, now), now, reportOf(min(i, 2), ""))
	}
	mesh, _ := w.awaitVerified("ReportInvalid")
	if len(mesh.Status.Findings) != 1 || mesh.Status.Findings[0].Pod.Index != 3 || !strings.Contains(mesh.Status.Findings[0].Message, "a pod speaks for itself alone") {
		t.Errorf("findings %+v", mesh.Status.Findings)
	}
}

func TestVerificationOfAPlacementIsChecked(t *testing.T) {
	w := newWorld(t, wholeCluster)
	for want, v := range map[string]*v1alpha1.Verification{
		"spec.verification.mode":                {Mode: "Maybe"},
		"spec.verification.deadlineSeconds":     {DeadlineSeconds: 5},
		"spec.verification.minimumSharePercent": {MinimumSharePercent: ptr(int32(101))},
	} {
		p := w.PlacementOf("llm", 1, 1)
		p.Spec.Verification = v
		if err := w.Create(t.Context(), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error of %s", v, err, want)
		}
	}
	p := w.PlacementOf("llm", 1, 1)
	p.Spec.Verification = &v1alpha1.Verification{}
	got := w.place(p).Spec.Verification
	if got.Mode != v1alpha1.VerificationReport || got.DeadlineSeconds != 300 || *got.MinimumSharePercent != 25 {
		t.Errorf("defaults %+v", got)
	}
}

func ptr[T any](value T) *T { return &value }
