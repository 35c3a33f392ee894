package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/rankwright/rankwright/internal/version"
	"github.com/rankwright/rankwright/internal/words"
)

// Node agents as the chart installs them: the labels of their pods, the container, and the program in its image, which has no other.
const (
	agentLabels    = "app.kubernetes.io/name=rankwright,app.kubernetes.io/component=node-agent"
	agentContainer = "node-agent"
	agentProgram   = "/usr/local/bin/node-agent"
)

// agentRights are what it takes to find the agents and to run something beside them.
var agentRights = []right{{"list", "pods", ""}, {"create", "pods", "exec"}}

// exitUsage is how an agent ends that does not understand its command line.
const exitUsage = 2

// Agent is the pod of a node's agent.
type Agent struct {
	*corev1.Pod

	cluster   *Cluster
	container *corev1.Container
}

// Agent finds the pod of a node's agent.
func (c *Cluster) Agent(ctx context.Context, node string) (*Agent, error) {
	pods, err := c.agentPods(ctx, "spec.nodeName="+node)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil })
	switch {
	case len(pods) == 0:
		return nil, c.withoutAgent(ctx, node)
	case at < 0:
		return nil, fmt.Errorf("the agent of node %s does not run, pod %s is %s: kubectl describe pod %[2]s -n %[4]s", node, pods[0].Name, pods[0].Status.Phase, c.agents)
	}
	pod := &pods[at]
	container := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == agentContainer })
	if container < 0 {
		return nil, fmt.Errorf("pod %s of namespace %s has no container %s: it is no node agent as the chart installs it", pod.Name, c.agents, agentContainer)
	}
	return &Agent{pod, c, &pod.Spec.Containers[container]}, nil
}

func (c *Cluster) agentPods(ctx context.Context, fields string) ([]corev1.Pod, error) {
	var list corev1.PodList
	options := &metav1.ListOptions{LabelSelector: agentLabels, FieldSelector: fields}
	err := c.clients[corev1.SchemeGroupVersion].Get().Namespace(c.agents).Resource("pods").VersionedParams(options, metav1.ParameterCodec).Do(ctx).Into(&list)
	return list.Items, c.unlessMissing(ctx, agentRights, c.explained("pods", err))
}

// withoutAgent is why a node has no agent.
func (c *Cluster) withoutAgent(ctx context.Context, node string) error {
	pods, err := c.agentPods(ctx, "")
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		return fmt.Errorf("there is no node agent in namespace %s: name the one of the agents with --agent-namespace", c.agents)
	}
	names := make([]string, len(pods))
	for i := range pods {
		names[i] = pods[i].Spec.NodeName
	}
	return fmt.Errorf("namespace %s has no node agent on node %s, and on nodes with names like it on %s: kubectl get pods -n %[1]s -l %[4]s -o wide lists all",
		c.agents, node, strings.Join(words.Nearest(node, names, 3), ", "), agentLabels)
}

// Run runs the agent's program once more beside it, with a subcommand, the flags that the agent has, and others. What it prints goes to out.
func (a *Agent) Run(ctx context.Context, out io.Writer, subcommand string, flags ...string) error {
	program := agentProgram
	if len(a.container.Command) > 0 {
		program = a.container.Command[0]
	}
	executor, err := a.executor(&corev1.PodExecOptions{
		Container: a.container.Name, Stdout: true, Stderr: true, Command: slices.Concat([]string{program, subcommand}, a.container.Args, flags),
	})
	if err != nil {
		return err
	}
	var errs strings.Builder
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: out, Stderr: &errs})
	var ended exec.CodeExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &ended):
		err = a.cluster.unlessMissing(ctx, agentRights, err)
	default:
		err = fmt.Errorf("%s: exit code %d", strings.TrimSpace(errs.String()), ended.Code)
		if ended.Code == exitUsage {
			err = fmt.Errorf("%w: its image is %s, and this plugin is %s: install agents of the plugin's version", err, a.container.Image, version.String())
		}
	}
	return fmt.Errorf("run %s %s in pod %s of namespace %s: %w", agentContainer, subcommand, a.Name, a.Namespace, err)
}

// executor runs a command in the pod: by WebSocket, or by SPDY where what is between does not let that through, as kubectl does.
func (a *Agent) executor(options *corev1.PodExecOptions) (remotecommand.Executor, error) {
	core := a.cluster.clients[corev1.SchemeGroupVersion]
	address := core.Post().Namespace(a.Namespace).Resource("pods").Name(a.Name).SubResource("exec").VersionedParams(options, runtime.NewParameterCodec(a.cluster.scheme)).URL()
	sockets, err := remotecommand.NewWebSocketExecutor(a.cluster.config, "GET", address.String())
	if err != nil {
		return nil, fmt.Errorf("connect to pod %s: %w", a.Name, err)
	}
	streams, err := remotecommand.NewSPDYExecutor(a.cluster.config, "POST", address)
	if err != nil {
		return nil, fmt.Errorf("connect to pod %s: %w", a.Name, err)
	}
	return remotecommand.NewFallbackExecutor(sockets, streams, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}
