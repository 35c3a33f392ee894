//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// RuntimeHandler is the name by which a RuntimeClass has containers run by what InstallRuntime installs.
const RuntimeHandler = "nvidia"

// containerdConfig has the folders of the node and of the machine's CNI plugins to be filled in.
const containerdConfig = `version = 3
root = "{dir}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri"]

[grpc]
  address = "/run/containerd/containerd.sock"

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "` + pauseName + `"

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  disable_apparmor = true
  enable_cdi = true
  cdi_spec_dirs = ["/run/cdi"]
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{plugins}"]
    conf_dir = "{dir}/cni"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.` + RuntimeHandler + `]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.` + RuntimeHandler + `.options]
      SystemdCgroup = false
      BinaryName = "{dir}/` + runtimeName + `"
`

// runtimeName is the file that containerd runs for containers of RuntimeHandler.
const runtimeName = "nvidia-container-runtime"

// InstallRuntime installs what plays NVIDIA's container toolkit: containers that ask for GPUs by their environment get the GPUs
// of the played host, and its driver's library.
func (n *Node) InstallRuntime(ctx context.Context) error {
	content, err := nvidiaRuntime.build(ctx, "nvidiaruntime")
	if err != nil {
		return err
	}
	return os.WriteFile(n.path(runtimeName), content, 0o755) //nolint:gosec // a program
}

// cniConfig connects pods to a bridge of the node.
const cniConfig = `{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "ipam": {
    "type": "host-local", "dataDir": "{dir}/ipam", "ranges": [[{"subnet": "{pods}"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}, {"type": "loopback"}]}
`

// StartContainerd starts containerd and returns when it answers.
func (n *Node) StartContainerd(ctx context.Context) error {
	fill := strings.NewReplacer("{dir}", n.dir, "{plugins}", cniPlugins, "{pods}", n.cluster.net.pods(n.number).String())
	if err := os.MkdirAll(n.path("cni"), 0o700); err != nil {
		return err
	}
	for name, content := range map[string]string{"containerd.toml": containerdConfig, "cni/pods.conflist": cniConfig} {
		if err := os.WriteFile(n.path(name), []byte(fill.Replace(content)), 0o600); err != nil {
			return err
		}
	}
	if err := n.run("containerd", "--config", n.path("containerd.toml")); err != nil {
		return err
	}
	return n.components["containerd"].Await(ctx, ReadyTimeout, func(ctx context.Context) error {
		_, err := n.ctr(ctx, "version")
		return err
	})
}

// ctr runs containerd's client and returns what it printed.
func (n *Node) ctr(ctx context.Context, args ...string) (string, error) {
	return n.output(ctx, append([]string{filepath.Join(n.cluster.options.BinDir, "ctr"), "--namespace", "k8s.io"}, args...)...)
}

func (n *Node) loadImage(ctx context.Context, archive string) error {
	_, err := n.ctr(ctx, "images", "import", archive)
	return err
}

// removeContainers kills every container and removes its cgroup, as far as containerd answers.
func (n *Node) removeContainers() {
	if n.components["containerd"] == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	tasks, err := n.ctr(ctx, "tasks", "list", "--quiet")
	if err != nil {
		return
	}
	for _, task := range strings.Fields(tasks) {
		_, _ = n.ctr(ctx, "tasks", "delete", "--force", task)
	}
}

// ProcessOf returns the id, as this process sees it, of a container's first process.
func (n *Node) ProcessOf(ctx context.Context, container string) (int, error) {
	tasks, err := n.ctr(ctx, "tasks", "list")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(tasks) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == container {
			return strconv.Atoi(fields[1])
		}
	}
	return 0, fmt.Errorf("%s: no container %s runs", n.Name, container)
}
