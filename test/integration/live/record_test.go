package live

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/repository"
)

// agents is the namespace of the node agents.
const agents = "rankwright-node-agent"

// records has the agent of a node record it: first as somebody without rights, who is given them by the commands that he is told.
func records(w *world) {
	kubelet := w.runKubelet("l40s-0")
	pod := w.runAgent("l40s-0", "--replay="+clitest.RecordingOf(w.T, hosts["l40s-0"]))
	file := filepath.Join(w.TempDir(), "l40s.tar.gz")
	command := []string{"record", "node/l40s-0", "-o", file}

	recorder := w.of("recorder")
	r := w.run(0, recorder, command...)
	lacks, remedy, told := strings.Cut(r.Err, ", which this would allow: ")
	if r.Code != term.ExitFailure || !told || lacks != "error: user recorder may not list pods and create pods/exec in namespace "+agents {
		w.Fatalf("without rights: exit code %d, errors %q", r.Code, r.Err)
	}
	first, second, _ := strings.Cut(remedy, " && kubectl create role 'rankwright-create-pods-exec:recorder' ")
	w.kubectl(first)
	w.Eventually("the second right is missed alone", func(context.Context) bool {
		err := w.run(0, recorder, command...).Err
		return strings.HasSuffix(err, "user recorder may not create pods/exec in namespace "+agents+", which this would allow: kubectl create role 'rankwright-create-pods-exec:recorder' "+second)
	})
	w.kubectl("kubectl create role 'rankwright-create-pods-exec:recorder' " + second)
	w.Eventually("the user has both rights", func(context.Context) bool { return w.run(0, recorder, command...).Code == term.ExitOK })
	w.same("told", "node/l40s-0 recorded: kubectl rankwright detect --replay "+file+"\n", w.checked(w.run(0, recorder, command...), command))
	w.same("asked for", fmt.Sprint([]string{"node-agent", "/usr/local/bin/node-agent", "record", "--replay=" + clitest.RecordingOf(w.T, hosts["l40s-0"])}), fmt.Sprint(kubelet.hasProgram(kubelet.program)))
	names := []string{"detect", "-o", "custom-columns=ID:.id,PRODUCT:.product", "--replay"}
	w.same("devices", w.ok(append(names, clitest.RecordingOf(w.T, hosts["l40s-0"]))...), w.ok(append(names, file)...))
	w.same("the name of the node is replaced", "host-1", w.recorded(file).Name)
	w.asks(append(command, "--keep-identifiers")...)
	w.same("the name of the node is kept", "gpu-node-17", w.recorded(file).Name)
	if out := w.asks("record", "node/l40s-0", "-o", "-"); !strings.HasPrefix(out, "\x1f\x8b") {
		w.Errorf("standard output is no recording: %.40q", out)
	}

	page := w.page()
	w.Run("into the folder where the user is", func(t *testing.T) {
		t.Chdir(t.TempDir())
		page.Show(t, "record node/l40s-0", w.asks("record", "node/l40s-0"))
	})
	page.Hold(w.T, "kubectl rankwright ") // the rest of the page is held by documented

	// An agent that does not understand the plugin, and one that ends.
	w.remake(pod, "--colour=red")
	w.refuses("exit code 2: its image is node-agent:1, and this plugin is", command...)
	w.remake(pod, "--replay="+clitest.RecordingOf(w.T, hosts["l40s-0"]))
	kubelet.hasProgram("true")
	w.refuses("what pod "+pod.Name+" sent of node l40s-0 is of no use", command...)

	w.refuses("namespace "+agents+" has no node agent on node l40s-1, and on nodes with names like it on l40s-0: kubectl get pods -n "+agents, "record", "node/l40s-1")
	w.refuses("there is no node agent in namespace "+home+": name the one of the agents with --agent-namespace", "record", "node/l40s-0", "--agent-namespace", home)
	w.refuses(`"pod/x": name node/NAME`, "record", "pod/x")
	w.refuses("0 arguments given: write record node/NAME", "record")
	w.Change(pod, func() { pod.Status.Phase = corev1.PodPending })
	w.refuses("the agent of node l40s-0 does not run, pod "+pod.Name+" is Pending: kubectl describe pod "+pod.Name+" -n "+agents, command...)
}

// recorded is what a recording says of its host.
func (w *world) recorded(file string) v1alpha1.AcceleratorInventory {
	w.Helper()
	return clitest.Object[v1alpha1.AcceleratorInventory](w.T, w.ok("detect", "--replay", file, "-o", "json"))
}

// refuses runs a command as the administrator, which must fail with some words.
func (w *world) refuses(words string, args ...string) {
	w.Helper()
	if r := w.run(0, w.kubeconfig, args...); r.Code == term.ExitOK || !strings.Contains(r.Err, words) {
		w.Errorf("%v: exit code %d, errors %q; want %q", args, r.Code, r.Err, words)
	}
}

// runKubelet starts what runs commands in the containers of a node.
func (w *world) runKubelet(name string) *execKubelet {
	w.Helper()
	program := filepath.Join(w.TempDir(), "node-agent")
	w.Must(repository.Build(w.Context(), program, "cmd/node-agent"))
	kubelet := &execKubelet{program: program}
	served := http.NewServeMux()
	served.Handle("POST /exec/{namespace}/{pod}/{container}", kubelet)
	server := httptest.NewTLSServer(served)
	w.Cleanup(server.Close)
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	w.Must(err)
	number, err := strconv.ParseInt(port, 10, 32)
	w.Must(err)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(node), node))
	w.Change(node, func() {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	})
	return kubelet
}

// runAgent makes the pod of a node's agent, with flags, and plays the kubelet that starts it.
func (w *world) runAgent(node string, flags ...string) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: agents, Name: "rankwright-node-agent-7xk2p", Labels: map[string]string{
			"app.kubernetes.io/name": "rankwright", "app.kubernetes.io/component": "node-agent",
		}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "helper", Image: "node-helper:1"}, {Name: "node-agent", Image: "node-agent:1", Args: flags}}},
	}
	w.Must(w.Create(w.Context(), pod))
	w.Cleanup(func() {
		_ = client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), pod, client.GracePeriodSeconds(0)))
	})
	w.Change(pod, func() { pod.Status.Phase = corev1.PodRunning })
	return pod
}

// remake replaces an agent's pod by one with other flags.
func (w *world) remake(pod *corev1.Pod, flags ...string) {
	w.Helper()
	w.Must(w.Delete(w.Context(), pod, client.GracePeriodSeconds(0)))
	w.runAgent(pod.Spec.NodeName, flags...).DeepCopyInto(pod)
}
