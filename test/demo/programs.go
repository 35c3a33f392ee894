package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/rankwright/rankwright/test/controlplane"
)

// tokenLifetime is long enough for a demo that is kept for a day.
const tokenLifetime = 24 * time.Hour

// startOperator starts the operator with the rights of its service account, no more.
func (d *demo) startOperator(ctx context.Context, fail context.CancelCauseFunc) error {
	d.progress.step("starting the operator as its service account")
	token, err := d.token(ctx, operatorNamespace, operatorAccount, nil)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(d.dir, "logs", "operator.kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, d.cluster.ConfigForToken(token)); err != nil {
		return err
	}
	return d.launch(ctx, fail, "operator", "operator", "--kubeconfig", kubeconfig, "--namespace", operatorNamespace,
		"--health-address", "0", "--metrics-address", "0")
}

// startAgents starts one agent for each node, each with a token that is bound to its Node.
func (d *demo) startAgents(ctx context.Context, fail context.CancelCauseFunc) error {
	d.progress.step("starting a node agent for this host and one for each recorded host, each with a token bound to its Node")
	if err := d.awaitPolicy(ctx); err != nil {
		return err
	}
	for _, node := range d.nodes {
		bound := &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Node", Name: node.name, UID: node.uid}
		token, err := d.token(ctx, agentNamespace, agentAccount, bound)
		if err != nil {
			return err
		}
		name := "node-agent-" + node.name
		kubeconfig := filepath.Join(d.dir, "logs", name+".kubeconfig")
		if err := controlplane.WriteKubeconfig(kubeconfig, d.cluster.ConfigForToken(token)); err != nil {
			return err
		}
		args := []string{"--kubeconfig", kubeconfig, "--node-name", node.name, "--health-address", "0", "--metrics-address", "0"}
		if node.recording != "" {
			args = append(args, "--replay", d.recordingPath(node))
		}
		if err := d.launch(ctx, fail, name, "node-agent", args...); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) token(ctx context.Context, namespace, account string, bound *authenticationv1.BoundObjectReference) (string, error) {
	seconds := int64(tokenLifetime.Seconds())
	response, err := d.clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of %s: %w", account, err)
	}
	return response.Status.Token, nil
}

// awaitPolicy returns when the admission policy is in force, a moment after it was written: a token that is bound to no
// node is then refused. Only the answer tells.
func (d *demo) awaitPolicy(ctx context.Context) error {
	token, err := d.token(ctx, agentNamespace, agentAccount, nil)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(d.cluster.ConfigForToken(token))
	if err != nil {
		return fmt.Errorf("client of the agent: %w", err)
	}
	last := error(nil)
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, waitLimit, true, func(ctx context.Context) (bool, error) {
		_, last = client.CoreV1().Nodes().Patch(ctx, d.nodes[0].name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"rankwright.dev/policy-probe":"true"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(last) && strings.Contains(last.Error(), "bound to no node"), nil
	})
	if err != nil {
		return fmt.Errorf("the admission policy is not in force: %w (last answer: %w)", err, last)
	}
	return nil
}
