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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

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
	holder, err := process.Start(process.Spec{
		Name: n.Name, Path: "/usr/bin/nsenter", LogFile: n.path("holder.log"),
		Args: []string{"--net=" + namespacePath(n.cluster.net.namespace(n.number)), "--", "unshare", "--mount", "sh", "-c", enter, "enter", n.dir},
	})
	if err != nil {
		return err
	}
	n.holder = holder
	if err := await(ctx, holder, func(context.Context) error {
		_, err := os.Stat(n.path("entered"))
		return err
	}); err != nil {
		return err
	}
	if err := n.StartContainerd(ctx); err != nil {
		return err
	}
	if err := n.loadImage(ctx, pause); err != nil {
		return err
	}
	if err := n.writeKubeconfigs(); err != nil {
		return err
	}
	if err := n.StartKubelet(); err != nil {
		return err
	}
	if err := n.startProxy(ctx); err != nil {
		return err
	}
	if err := n.AwaitReady(ctx); err != nil {
		return err
	}
	n.cluster.logf("%s: ready", n.Name)
	return nil
}

// startProxy starts kube-proxy and returns when Services are known to the node.
func (n *Node) startProxy(ctx context.Context) error {
	if err := n.run("kube-proxy", "--config", n.path("kube-proxy.yaml")); err != nil {
		return err
	}
	return await(ctx, n.components["kube-proxy"], func(ctx context.Context) error {
		output, err := n.Command(ctx, "iptables", "--wait", "--table", "nat", "--list-rules", "KUBE-SERVICES").CombinedOutput()
		if err == nil && !strings.Contains(string(output), n.cluster.net.services().Addr().Next().String()) {
			err = errors.New("the Service kubernetes is not among its rules")
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		return nil
	})
}

func (n *Node) path(name string) string { return filepath.Join(n.dir, name) }

// writeKubeconfigs writes what the kubelet and kube-proxy are told, and who they are.
func (n *Node) writeKubeconfigs() error {
	kubelet, err := n.cluster.ControlPlane.NodeConfig(n.Name)
	if err != nil {
		return err
	}
	proxy, err := n.cluster.ControlPlane.ProxyConfig()
	if err != nil {
		return err
	}
	if err := controlplane.WriteKubeconfig(n.path("kubelet.kubeconfig"), kubelet); err != nil {
		return err
	}
	if err := controlplane.WriteKubeconfig(n.path("kube-proxy.kubeconfig"), proxy); err != nil {
		return err
	}
	if err := writeYAML(n.path("kubelet.yaml"), n.kubeletConfig()); err != nil {
		return err
	}
	return writeYAML(n.path("kube-proxy.yaml"), n.proxyConfig())
}

// Command returns a command that runs in the node's namespaces.
func (n *Node) Command(ctx context.Context, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", n.inside(argv...)...)
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

// LogFile returns the path of a component's log.
func (n *Node) LogFile(component string) string { return n.path(component + ".log") }

// Path returns the path, as this process sees it, of a file by its name inside of the node.
func (n *Node) Path(name string) string { return fmt.Sprintf("/proc/%d/root%s", n.holder.PID(), name) }

// DevicePlugins returns the path, as this process sees it, of the folder where device plugins meet the node's kubelet.
func (n *Node) DevicePlugins() string { return n.path("kubelet/device-plugins") }

// AwaitReady waits until the Node is Ready.
func (n *Node) AwaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ReadyTimeout)
	defer cancel()
	clients, err := kubernetes.NewForConfig(n.cluster.ControlPlane.Config())
	if err != nil {
		return err
	}
	err = awaitObject(ctx, clients.CoreV1().RESTClient(), "nodes", metav1.NamespaceAll, n.Name, &corev1.Node{}, func(o runtime.Object) bool {
		node, ok := o.(*corev1.Node)
		return ok && ready(node)
	})
	if err != nil {
		return fmt.Errorf("not Ready: %w; the end of %s:\n%s", err, n.LogFile("kubelet"), n.components["kubelet"].LogTail(20))
	}
	return nil
}

// awaitObject watches an object until it is as it should be.
func awaitObject(ctx context.Context, client cache.Getter, resource, namespace, name string, kind runtime.Object, good func(runtime.Object) bool) error {
	objects := cache.NewListWatchFromClient(client, resource, namespace, fields.OneTermEqualSelector("metadata.name", name))
	_, err := watchtools.UntilWithSync(ctx, objects, kind, nil, func(event watch.Event) (bool, error) {
		return event.Type != watch.Deleted && good(event.Object), nil
	})
	return err
}

func ready(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
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
