//go:build linux

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
	"github.com/rankwright/rankwright/test/cluster"
)

// proving is a Job that verifies the mesh of its placement and then runs the probe.
const proving = sixRanks + `  verification: {mode: MODE, deadlineSeconds: DEADLINE, minimumSharePercent: 0}
---
apiVersion: v1
kind: Service
metadata: {name: NAME}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {rankwright.dev/placement: NAME}
---
apiVersion: batch/v1
kind: Job
metadata: {name: NAME}
spec:
  completionMode: Indexed
  completions: 6
  parallelism: PODS
  template:
    metadata: {labels: {rankwright.dev/placement: NAME}}
    spec:
      restartPolicy: OnFailure
      subdomain: NAME
` + probing

// prove applies a Job that verifies.
func (s *site) prove(t *testing.T, name string, mode v1alpha1.VerificationMode, deadline time.Duration, pods int, command string) {
	t.Helper()
	s.applyText(t, proving, "NAME", name, "MODE", string(mode), "DEADLINE", strconv.Itoa(int(deadline.Seconds())),
		"PODS", strconv.Itoa(pods), "COMMAND", command)
	t.Cleanup(func() {
		if t.Failed() {
			s.verifierLogs(t, name)
		}
	})
}

// verifierLogs prints what the verifying containers of a placement said.
func (s *site) verifierLogs(t *testing.T, placement string) {
	t.Helper()
	ctx := context.Background()
	pods, err := s.listPods(ctx, placement)
	if err != nil {
		t.Log(err)
		return
	}
	for i := range pods {
		pod := &pods[i]
		for _, previous := range []bool{true, false} {
			options := &corev1.PodLogOptions{Container: verification.Container, Previous: previous}
			if text, err := s.clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).DoRaw(ctx); err == nil {
				t.Logf("%s, previous %t:\n%s", pod.Name, previous, text)
			}
		}
		t.Logf("%s: %s", pod.Name, describe(pod.Status.InitContainerStatuses))
	}
}

// awaitVerdict waits for the verdict about a mesh, and returns it with the findings.
func (s *site) awaitVerdict(t *testing.T, name string) (verdict metav1.Condition, findings []v1alpha1.VerificationFinding) {
	t.Helper()
	began := time.Now()
	mesh := s.awaitMesh(t, name, func(m *v1alpha1.DeviceMesh) bool {
		c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionVerified)
		return c != nil && c.Status != metav1.ConditionUnknown
	})
	verdict = *meta.FindStatusCondition(mesh.Status.Conditions, v1alpha1.ConditionVerified)
	step("%s %s after %.1f s: %s", name, verdict.Reason, time.Since(began).Seconds(), verdict.Message)
	return verdict, mesh.Status.Findings
}

func (s *site) awaitSuccess(t *testing.T, job string) {
	t.Helper()
	s.awaitJob(t, job, func(j *batchv1.Job) bool { return j.Status.Succeeded == ranks })
}

// Pods verify their mesh over the pod network before they start. A broken link is named by its two ends, and a pod that never
// comes by its number.
func TestMeshIsVerified(t *testing.T) {
	s := on(t)
	s.spread(t)
	t.Run("well", func(t *testing.T) {
		s.prove(t, "well", v1alpha1.VerificationRequire, 2*time.Minute, ranks, "show")
		verdict, findings := s.awaitVerdict(t, "well")
		if verdict.Reason != "AllGroupsVerified" || len(findings) > 0 {
			t.Fatalf("%s: %s; findings %s", verdict.Reason, verdict.Message, describe(findings))
		}
		s.awaitSuccess(t, "well")
		for index, pod := range s.podsOf(t, "well", ranks) {
			report := reportOf(t, pod)
			if report.Outcome != verification.Verified || int(report.Pod) != index {
				t.Errorf("pod %s reports %s", pod.Name, describe(report))
			}
		}
	})
	t.Run("a broken link", func(t *testing.T) {
		open := s.closeEverywhere(t, verification.Port)
		s.prove(t, "broken", v1alpha1.VerificationReport, time.Minute, ranks, "show")
		pods := s.awaitAddresses(t, "broken")
		a, b := pods[0], pods[slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName != pods[0].Spec.NodeName })]
		s.cut(t, a, b)
		open()
		verdict, findings := s.awaitVerdict(t, "broken")
		if verdict.Reason != "LinkBroken" || len(findings) != 1 || findings[0].Peer == nil {
			t.Fatalf("%s: %s; findings %s", verdict.Reason, verdict.Message, describe(findings))
		}
		ends := []string{findings[0].Pod.Name + " on " + findings[0].Pod.Node, findings[0].Peer.Name + " on " + findings[0].Peer.Node}
		slices.Sort(ends)
		want := []string{a.Name + " on " + a.Spec.NodeName, b.Name + " on " + b.Spec.NodeName}
		slices.Sort(want)
		if !slices.Equal(ends, want) {
			t.Errorf("the link of %q is said to be broken, and it is that of %q", ends, want)
		}
		s.awaitSuccess(t, "broken")
	})
	t.Run("a missing pod", func(t *testing.T) {
		s.prove(t, "missing", v1alpha1.VerificationReport, 20*time.Second, ranks-1, "hold")
		verdict, findings := s.awaitVerdict(t, "missing")
		if verdict.Reason != "PodsMissing" || len(findings) == 0 {
			t.Fatalf("%s: %s; findings %s", verdict.Reason, verdict.Message, describe(findings))
		}
		if first := findings[0]; first.Reason != v1alpha1.FindingPodMissing || first.Pod.Index != ranks-1 {
			t.Errorf("the first finding is %s, and pod %d never came", describe(first), ranks-1)
		}
	})
}

// reportOf is what a pod's verification said.
func reportOf(t *testing.T, pod *corev1.Pod) *verification.Report {
	t.Helper()
	for _, status := range pod.Status.InitContainerStatuses {
		if status.Name == verification.Container && status.State.Terminated != nil {
			report, err := verification.ParseReport(status.State.Terminated.Message)
			if err != nil {
				t.Fatalf("pod %s: %v", pod.Name, err)
			}
			return report
		}
	}
	t.Fatalf("pod %s did not verify: %s", pod.Name, describe(pod.Status))
	return nil
}

// awaitAddresses waits until all pods of a placement have an address.
func (s *site) awaitAddresses(t *testing.T, placement string) []*corev1.Pod {
	t.Helper()
	poll(t, "the pods of "+placement+" have addresses", func(ctx context.Context) (bool, error) {
		pods, err := s.listPods(ctx, placement)
		without := slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Status.PodIP == "" })
		return len(pods) == ranks && !without, err
	})
	return s.podsOf(t, placement, ranks)
}

// closeEverywhere drops what pods of different nodes send to a port, until open is called.
func (s *site) closeEverywhere(t *testing.T, port int) (open func()) {
	t.Helper()
	for _, node := range s.Nodes {
		s.filter(t, node, "-I", "-p", "tcp", "--dport", strconv.Itoa(port))
	}
	return func() {
		t.Helper()
		for _, node := range s.Nodes {
			s.filter(t, node, "-D", "-p", "tcp", "--dport", strconv.Itoa(port))
		}
	}
}

// cut drops what two pods of different nodes send to each other, until the end of the test.
func (s *site) cut(t *testing.T, a, b *corev1.Pod) {
	t.Helper()
	for _, way := range [][2]*corev1.Pod{{a, b}, {b, a}} {
		node := s.Nodes[slices.IndexFunc(s.Nodes, func(n *cluster.Node) bool { return n.Name == way[0].Spec.NodeName })]
		rule := []string{"-s", way[0].Status.PodIP, "-d", way[1].Status.PodIP}
		s.filter(t, node, "-I", rule...)
		t.Cleanup(func() { s.filter(t, node, "-D", rule...) })
	}
	step("cut %s on %s from %s on %s", a.Name, a.Spec.NodeName, b.Name, b.Spec.NodeName)
}

// filter inserts (-I) or deletes (-D) a rule that drops what the node forwards.
func (s *site) filter(t *testing.T, node *cluster.Node, verb string, rule ...string) {
	t.Helper()
	argv := append([]string{"iptables", "-w", verb, "FORWARD"}, rule...)
	if output, err := node.Command(context.Background(), append(argv, "-j", "DROP")...).CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("%s: %q: %w: %s", node.Name, argv, err, output))
	}
}
