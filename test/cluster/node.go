//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/process"
)

// ReadyTimeout is far above the seconds that a component takes on two free cores.
const ReadyTimeout = 3 * time.Minute

// Node is a node of the cluster: a network and a mount namespace with containerd, kubelet and kube-proxy in it. In its
// mount namespace /run, /var/lib/kubelet and the folders of containers' logs are its own, the rest is the machine's: a kubelet
// removes the logs of pods that it does not know, which includes the pods of another node.
type Node struct {
	// Name is the Node's metadata.name.
	Name string

	cluster *Cluster
	number  int
	dir     string
	// holder keeps the namespaces open.
	holder     *process.Process
	components map[string]*process.Process
	// devices are the device nodes of the host that the node plays.
	devices []string
}

func newNode(c *Cluster, number int) *Node {
	name := fmt.Sprintf("node-%d", number)
	return &Node{
		Name: name, cluster: c, number: number, dir: filepath.Join(c.options.Dir, name), components: map[string]*process.Process{},
	}
}

// enter makes the mount namespace: nothing mounted in it is seen outside, and what the node shares with its containers
// is shared inside alone. Its /dev has what containers need and the nodes of its own devices.
const enter = `set -e
mount --make-rprivate /
mkdir -p "$1/kubelet" "$1/host/dev" "$1/pods" "$1/containers" /var/lib/kubelet /var/log/pods /var/log/containers
mount --bind "$1/kubelet" /var/lib/kubelet
mount --bind "$1/pods" /var/log/pods
mount --bind "$1/containers" /var/log/containers
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/lock /run/dev "` + HostFolder + `" /var/lib/kubelet/device-plugins
mount --bind "$1/host" "` + HostFolder + `"
mount -t tmpfs -o mode=0755 tmpfs /run/dev
mkdir /run/dev/pts /run/dev/shm /run/dev/mqueue
for name in null zero full random urandom tty kmsg; do [ ! -e "/dev/$name" ] || cp -a "/dev/$name" /run/dev/; done
for name in ptmx fd stdin stdout stderr; do [ ! -e "/dev/$name" ] || cp -a "/dev/$name" /run/dev/; done
mount --rbind /dev/pts /run/dev/pts
mount --move /run/dev /dev
mount --rbind /dev "` + HostFolder + `/dev"
mount --make-rshared /
: > "$1/entered"
exec sleep infinity`

func (n *Node) start(ctx context.Context, pause string) error {
	if err := os.RemoveAll(n.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(n.dir, 0o755); err != nil { //nolint:gosec // pods of other users read below it
		return err
	}
	for _, step := range []func(context.Context) error{
		n.hold, n.StartContainerd, func(ctx context.Context) error { return n.loadImage(ctx, pause) },
		n.writeKubeconfigs, func(context.Context) error { return n.StartKubelet() }, n.startProxy, n.AwaitReady,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	n.cluster.logf("%s: ready", n.Name)
	return nil
}

// hold makes the node's namespaces, and starts what keeps them open.
func (n *Node) hold(ctx context.Context) error {
	var err error
	n.holder, err = process.Start(process.Spec{
		Name: n.Name, Path: "/usr/bin/nsenter", LogFile: n.path("holder.log"),
		Args: []string{"--net=" + namespacePath(n.cluster.net.namespace(n.number)), "--", "unshare", "--mount", "sh", "-c", enter, "enter", n.dir},
	})
	if err != nil {
		return err
	}
	return n.holder.Await(ctx, ReadyTimeout, func(context.Context) error {
		_, err := os.Stat(n.path("entered"))
		return err
	})
}

// startProxy starts kube-proxy and returns when Services are known to the node.
func (n *Node) startProxy(ctx context.Context) error {
	if err := n.run("kube-proxy", "--config", n.path("kube-proxy.yaml")); err != nil {
		return err
	}
	return n.components["kube-proxy"].Await(ctx, ReadyTimeout, func(ctx context.Context) error {
		rules, err := n.output(ctx, "iptables", "--wait", "--table", "nat", "--list-rules", "KUBE-SERVICES")
		if err == nil && !strings.Contains(rules, n.cluster.net.services().Addr().Next().String()) {
			err = fmt.Errorf("the Service kubernetes is not among its rules: %s", rules)
		}
		return err
	})
}

func (n *Node) path(name string) string { return filepath.Join(n.dir, name) }

// writeKubeconfigs writes what the kubelet and kube-proxy are told, and who they are.
func (n *Node) writeKubeconfigs(context.Context) error {
	kubelet, err := n.cluster.ControlPlane.NodeConfig(n.Name)
	if err != nil {
		return err
	}
	proxy, err := n.cluster.ControlPlane.ProxyConfig()
	if err != nil {
		return err
	}
	return errors.Join(
		controlplane.WriteKubeconfig(n.path("kubelet.kubeconfig"), kubelet),
		controlplane.WriteKubeconfig(n.path("kube-proxy.kubeconfig"), proxy),
		writeYAML(n.path("kubelet.yaml"), n.kubeletConfig()),
		writeYAML(n.path("kube-proxy.yaml"), n.proxyConfig()),
	)
}

// Command returns a command that runs in the node's namespaces.
func (n *Node) Command(ctx context.Context, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", n.inside(argv...)...)
}

// output runs a command in the node's namespaces and returns what it printed, which an error has too.
func (n *Node) output(ctx context.Context, argv ...string) (string, error) {
	printed, err := n.Command(ctx, argv...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w: %s", n.Name, argv[0], err, printed)
	}
	return string(printed), nil
}

func (n *Node) inside(argv ...string) []string {
	return append([]string{"--target=" + strconv.Itoa(n.holder.PID()), "--net", "--mount", "--"}, argv...)
}

// run starts a component of the cluster's binaries.
func (n *Node) run(binary string, args ...string) error {
	p, err := process.Start(process.Spec{
		Name: n.Name + " " + binary, Path: "/usr/bin/nsenter", LogFile: n.path(binary + ".log"),
		Args: n.inside(append([]string{filepath.Join(n.cluster.options.BinDir, binary)}, args...)...),
		Env:  append(os.Environ(), "PATH="+n.cluster.options.BinDir+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
	})
	if err != nil {
		return err
	}
	n.components[binary] = p
	return nil
}

// Kill ends a component (kubelet, containerd, kube-proxy) without warning and returns when it is gone.
func (n *Node) Kill(component string) {
	if p := n.components[component]; p != nil {
		p.Stop(0)
		delete(n.components, component)
	}
}

// Path returns the path, as this process sees it, of a file by its name inside of the node.
func (n *Node) Path(name string) string { return fmt.Sprintf("/proc/%d/root%s", n.holder.PID(), name) }

// DevicePlugins returns the path, as this process sees it, of the folder where device plugins meet the node's kubelet.
func (n *Node) DevicePlugins() string { return n.path("kubelet/device-plugins") }

// AwaitReady waits until the Node is Ready.
func (n *Node) AwaitReady(ctx context.Context) error {
	clients, err := kubernetes.NewForConfig(n.cluster.ControlPlane.Config())
	if err != nil {
		return err
	}
	return n.components["kubelet"].Await(ctx, ReadyTimeout, func(ctx context.Context) error {
		node, err := clients.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("its Node is not Ready: %+v", node.Status.Conditions)
	})
}

func (n *Node) stop() {
	for _, component := range []string{"kube-proxy", "kubelet", "containerd"} {
		if component == "containerd" {
			n.removeContainers()
		}
		if p := n.components[component]; p != nil {
			p.Stop(stopGrace)
		}
	}
	if n.holder != nil {
		n.holder.Stop(0)
	}
}
