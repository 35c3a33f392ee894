//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/survey"
	"github.com/rankwright/rankwright/test/controlplane"
)

const verifyNamespace = "rankwright-verify"

// counting is a pod that is given no device, in place of the pods that are given devices.
const counting = `
---
apiVersion: batch/v1
kind: Job
metadata: {name: verify-nvidia-probe, namespace: rankwright-verify, labels: {rankwright.dev/verify: nvidia-probe}}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never` + probing

// The Job of examples/verify as a user applies it, on a node that plays a host of 8 H100 with nvidia-smi: three views, the pod
// that was to count devices, and one file that replays.
func TestVerifyHardware(t *testing.T) {
	s := on(t)
	s.bare(t)
	node := s.Nodes[0]
	writeTool(t, filepath.Join(node.Host(), "tools"), recording(hosts[0]))
	s.applyVerification(t, append(playing(node.Name), "COMMAND", "show")...)
	defer func() {
		if t.Failed() {
			s.explainVerification(t)
		}
	}()
	done := awaitAs(t, s.objects.Resource(jobs).Namespace(verifyNamespace), "rankwright-verify", func(j *batchv1.Job) bool {
		return j.Status.Succeeded+j.Status.Failed > 0
	})
	if done.Status.Succeeded == 0 {
		t.Fatalf("the Job failed: %+v", done.Status)
	}
	report := s.verificationLog(t, "report")
	for _, want := range []string{
		"## View on-host: 8 devices", "## View no-exec: 8 devices", "## View in-pod: 8 devices",
		"[x] A pod of the node agent sees the memory that view on-host does:\n    8x 81559 MiB (Driver)",
		"[x] A pod of the node agent finds every device healthy", "## Measured in view in-pod", "## Pod nvidia-probe (annotations): Succeeded",
		"ms  nvidia-smi -q -x", "## Device nodes",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	packed, err := base64.StdEncoding.DecodeString(s.verificationLog(t, "file"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := host.ReadRecording(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	found, err := survey.Of(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	var again strings.Builder
	if err := found.Write(&again); err != nil {
		t.Fatal(err)
	}
	if again.String() != report {
		t.Error("the file gives another report than the Job printed")
	}
	sheet, _, _ := strings.Cut(report, "\n## ")
	t.Logf("the file has %d KiB; the report begins\n%s", len(packed)>>10, sheet)
}

// applyVerification applies the manifest, with words replaced by values, in a namespace that goes with the test.
func (s *site) applyVerification(t *testing.T, words ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "verify", "verify.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), "verify.yaml")
	if err := os.WriteFile(changed, []byte(strings.NewReplacer(words...).Replace(string(text)+counting)), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := controlplane.ReadManifests(changed)
	if err != nil {
		t.Fatal(err)
	}
	if err := controlplane.Apply(t.Context(), s.ControlPlane.Config(), "", objects...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := s.clients.CoreV1().Namespaces().Delete(context.Background(), verifyNamespace, metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
}

// playing are the words that make the manifest one for a node that plays a host: its images, and where it plays.
func playing(node string) []string {
	const root = "        - {name: root, mountPath: /host, readOnly: true}\n"
	words := []string{
		"      # nodeName: the-node-to-verify", "      nodeName: " + node,
		"hostPath: {path: /sys,", "hostPath: {path: /run/host/sys,", "hostPath: {path: /proc,", "hostPath: {path: /run/host/proc,",
		"recursiveReadOnly: IfPossible", "recursiveReadOnly: Disabled",
		root, root + "        - {name: sys, mountPath: /host/sys}\n        - {name: proc, mountPath: /host/proc}\n" +
			"        - {name: played, mountPath: /host/usr/local/sbin}\n",
		"      - name: root\n", "      - name: played\n        hostPath: {path: /run/host/tools, type: Directory}\n      - name: root\n",
	}
	for _, program := range []string{"node-agent", "node-helper"} {
		words = append(words, "ghcr.io/rankwright/"+program+":0.1.0", "rankwright.dev/rankwright/"+program+":"+tag+"\n        imagePullPolicy: Never")
	}
	return words
}

// writeTool writes an nvidia-smi that prints what was recorded.
func writeTool(t *testing.T, folder, archive string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	recorded, err := host.ReadRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // nothing in it is secret
		t.Fatal(err)
	}
	script := "#!/bin/sh\ncase \"$*\" in\n"
	for i, arguments := range []string{"-q -x", "-L", "nvlink -s", "topo -m"} {
		result, err := recorded.Host().Commands.Run(t.Context(), append([]string{"nvidia-smi"}, strings.Fields(arguments)...)...)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("output-%d", i)
		if err := os.WriteFile(filepath.Join(folder, name), result.Stdout, 0o600); err != nil {
			t.Fatal(err)
		}
		script += fmt.Sprintf("%q) exec cat /usr/local/sbin/%s ;;\n", arguments, name)
	}
	if err := os.WriteFile(filepath.Join(folder, "nvidia-smi"), []byte(script+"esac\nexit 2\n"), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
}

// verificationPod is the Job's pod.
func (s *site) verificationPod(t *testing.T) *corev1.Pod {
	t.Helper()
	pods, err := s.clients.CoreV1().Pods(verifyNamespace).List(t.Context(), listByJob("rankwright-verify"))
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("%d pods of the Job, %v", len(pods.Items), err)
	}
	return &pods.Items[0]
}

func (s *site) verificationLog(t *testing.T, container string) string {
	t.Helper()
	pod := s.verificationPod(t)
	text, err := s.clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// explainVerification prints what became of the containers.
func (s *site) explainVerification(t *testing.T) {
	pod := s.verificationPod(t)
	t.Log(describe(pod.Status))
	for _, container := range []string{"in-pod", "on-host", "join"} {
		text, err := s.clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container}).DoRaw(t.Context())
		t.Logf("%s: %s %v", container, text, err)
	}
}

func listByJob(name string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + name}
}
