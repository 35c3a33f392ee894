package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/rankwright/rankwright/test/controlplane"
)

// startOperator starts the operator with the rights of its service account, no more.
func (d *demo) startOperator(ctx context.Context, fail context.CancelCauseFunc) error {
	d.progress.step("starting the operator as its service account")
	kubeconfig, err := d.kubeconfig(ctx, "operator", operatorNamespace, operatorAccount, nil)
	if err != nil {
		return err
	}
	return d.launch(ctx, fail, "operator", "operator", "--kubeconfig", kubeconfig, "--namespace", operatorNamespace,
		"--health-address", "0", "--metrics-address", d.metrics[0])
}

// startAgents starts one agent for each node, each with a token that is bound to its Node.
func (d *demo) startAgents(ctx context.Context, fail context.CancelCauseFunc) error {
	d.progress.step("starting a node agent for this host and one for each recorded host, each with a token bound to its Node")
	if err := d.awaitPolicy(ctx); err != nil {
		return err
	}
	for i, node := range d.nodes {
		name := "node-agent-" + node.name
		kubeconfig, err := d.kubeconfig(ctx, name, agentNamespace, agentAccount, node.registered)
		if err != nil {
			return err
		}
		args := []string{"--kubeconfig", kubeconfig, "--node-name", node.name, "--health-address", "0", "--metrics-address", d.metrics[1+i]}
		if node.recording != "" {
			args = append(args, "--replay", filepath.Join(d.root, "test", "recordings", node.recording))
		}
		if err := d.launch(ctx, fail, name, "node-agent", args...); err != nil {
			return err
		}
	}
	return nil
}

// kubeconfig writes the kubeconfig of a program that runs as a service account, bound to a node where one is given.
func (d *demo) kubeconfig(ctx context.Context, program, namespace, account string, node *corev1.Node) (string, error) {
	config, err := d.cluster.ConfigForAccount(ctx, namespace, account, node)
	if err != nil {
		return "", err
	}
	path := filepath.Join(d.dir, "logs", program+".kubeconfig")
	return path, controlplane.WriteKubeconfig(path, config)
}

// awaitPolicy returns when the admission policy is in force, a moment after it was written: a token that is bound to no
// node is then refused. Only the answer tells.
func (d *demo) awaitPolicy(ctx context.Context) error {
	config, err := d.cluster.ConfigForAccount(ctx, agentNamespace, agentAccount, nil)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client of the agent: %w", err)
	}
	last := error(nil)
	err = wait.PollUntilContextTimeout(ctx, pollInterval, waitLimit, true, func(ctx context.Context) (bool, error) {
		_, last = client.CoreV1().Nodes().Patch(ctx, d.nodes[0].name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"rankwright.dev/policy-probe":"true"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(last) && strings.Contains(last.Error(), "bound to no node"), nil
	})
	if err != nil {
		return fmt.Errorf("the admission policy is not in force: %w (last answer: %w)", err, last)
	}
	return nil
}
