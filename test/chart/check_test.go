package chart

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/controlplane"
)

// TestCheck runs what the chart's test pod runs, with the rights that the chart gives it, before and after agents and
// operators say that they work.
func TestCheck(t *testing.T) {
	install(t, agentNamespace)
	var account []string
	for _, object := range render(t) {
		if hook(object) == "test" && object.GetKind() != "Pod" {
			account = append(account, key(object))
			if err := controlplane.Apply(t.Context(), cluster.Config(), "", object); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(account) == 0 {
		t.Fatal("the chart has no account for its test")
	}
	t.Cleanup(func() { deleteTestHooks(t) })
	program := filepath.Join(t.TempDir(), "operator")
	if err := repository.Build(t.Context(), program, "cmd/operator"); err != nil {
		t.Fatal(err)
	}
	kubeconfig := checkKubeconfig(t)
	check := func(timeout string) (string, error) {
		command := exec.CommandContext(t.Context(), program, "check", "--kubeconfig", kubeconfig, "--timeout", timeout) //nolint:gosec // the test's own
		var output bytes.Buffer
		command.Stdout, command.Stderr = &output, &output
		err := command.Run()
		return output.String(), err
	}

	said, err := check("1s")
	for _, want := range []string{"kinds         OK", "operator      Failed", "0 available", "leader        Failed", "agents        Failed"} {
		if err == nil || !strings.Contains(said, want) {
			t.Errorf("%v, want a failure with %q:\n%s", err, want, said)
		}
	}

	createNode(t, "node-a")
	pretendToWork(t, "node-a")
	if said, err := check("2m"); err != nil || strings.Contains(said, "Failed") {
		t.Errorf("%v:\n%s", err, said)
	}

	old := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, metav1.NewMicroTime(time.Now().Add(-time.Hour)).UTC().Format(metav1.RFC3339Micro))
	patch(t, agentNamespace, "leases.coordination.k8s.io", "node-a", old)
	if said, err := check("1s"); err == nil || !strings.Contains(said, "heartbeats    Failed   1 of 1 nodes with an agent have no Lease that holds (node-a)") {
		t.Errorf("%v, want a failure about the heartbeat:\n%s", err, said)
	}
}

// deleteTestHooks removes what Helm would remove after its test.
func deleteTestHooks(t *testing.T) {
	for _, object := range []string{
		"clusterrole", "clusterrolebinding", "serviceaccount --namespace=" + agentNamespace, "role --namespace=" + agentNamespace,
		"rolebinding --namespace=" + agentNamespace,
	} {
		args := append([]string{"delete", "--ignore-not-found"}, append(strings.Fields(object), "rankwright-check")...)
		if _, said, err := tool(t, []string{"KUBECONFIG=" + cluster.Kubeconfig()}, "kubectl", args...); err != nil {
			t.Error(said)
		}
	}
}

// checkKubeconfig writes a kubeconfig for the account of the chart's test pod.
func checkKubeconfig(t *testing.T) string {
	t.Helper()
	config, err := cluster.ConfigForAccount(t.Context(), agentNamespace, "rankwright-check", nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "check.kubeconfig")
	if err := controlplane.WriteKubeconfig(path, config); err != nil {
		t.Fatal(err)
	}
	return path
}

// pretendToWork writes what controllers, kubelets, agents and operators write where all is well: there are none here.
func pretendToWork(t *testing.T, node string) {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the agent's pod", func(ctx context.Context) bool {
		pods, err := clients(t).CoreV1().Pods(agentNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=node-agent"})
		if err != nil || len(pods.Items) != 1 {
			return false
		}
		if pods.Items[0].Spec.NodeName == "" {
			bind(t, pods.Items[0].Name, node)
		}
		return true
	})
	ready := `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	for namespace, component := range map[string]string{agentNamespace: "node-agent", operatorNamespace: "operator"} {
		pods, err := clients(t).CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=" + component})
		if err != nil {
			t.Fatal(err)
		}
		for k := range pods.Items {
			_, err := clients(t).CoreV1().Pods(namespace).Patch(t.Context(), pods.Items[k].Name, types.MergePatchType, []byte(ready), metav1.PatchOptions{}, "status")
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	now := metav1.NowMicro().UTC().Format(metav1.RFC3339Micro)
	held := "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: %s, namespace: %s}, spec: {holderIdentity: x, leaseDurationSeconds: 600, renewTime: '" + now + "'}}"
	for _, present := range []act{
		creates(inventoriesKind, inventoryWith(node, "}")),
		creates(leasesKind, fmt.Sprintf(held, node, agentNamespace)),
		creates(leasesKind, fmt.Sprintf(held, "rankwright-operator", operatorNamespace)),
	} {
		if err := present(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
}

// bind is the scheduler's part.
func bind(t *testing.T, pod, node string) {
	t.Helper()
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Binding","metadata":{"name":%q},"target":{"apiVersion":"v1","kind":"Node","name":%q}}`, pod, node)
	err := clients(t).CoreV1().RESTClient().Post().Namespace(agentNamespace).Resource("pods").Name(pod).SubResource("binding").
		Body([]byte(body)).SetHeader("Content-Type", "application/json").Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
}

// patch merges into an object.
func patch(t *testing.T, namespace, kind, name, body string) {
	t.Helper()
	_, said, err := tool(t, []string{"KUBECONFIG=" + cluster.Kubeconfig()}, "kubectl", "patch", kind, name, "--namespace", namespace, "--type=merge", "--patch", body)
	if err != nil {
		t.Fatal(said)
	}
}
