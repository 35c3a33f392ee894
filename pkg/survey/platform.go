package survey

import (
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// platform is what a host has beside its devices that decides what is seen of them, and what containers get.
type platform struct {
	// functions are PCI functions with a link, and the bridges that lead to them, in order of their paths.
	functions []function
	// nodes are device nodes of accelerators and fabrics.
	nodes []node
	// configurations are the configuration files of container runtimes, without what is not about devices; specifications are
	// CDI's files.
	configurations, specifications []file
	// settings are files of one value, by what they say.
	settings []file
}

// file is what a file says.
type file struct{ name, content string }

// readPlatform reads what there is; what cannot be read says so in its place.
func readPlatform(files host.Files) platform {
	p := platform{
		functions: functions(files), nodes: nodes(files),
		configurations: texts(files, configurations), specifications: texts(files, specifications),
	}
	for _, s := range settings {
		if value, ok := content(files, s.path); ok {
			p.settings = append(p.settings, file{s.name, strings.TrimSpace(value)})
		}
	}
	return p
}

// content is what a file holds, or why it cannot be read; ok is false where there is no such file.
func content(files host.Files, name string) (content string, ok bool) {
	if mode, err := files.Stat(name); err != nil || !mode.IsRegular() {
		return "", false
	}
	data, err := files.ReadFile(name)
	if err != nil {
		return err.Error(), true
	}
	return string(data), true
}

// configurations are where container runtimes are configured: containerd, k3s and RKE2, k0s, MicroK8s, Talos' parts of
// containerd's, CRI-O, Docker, NVIDIA's runtime. A name that ends in a slash is a folder of them.
var configurations = []string{
	"/etc/containerd/config.toml", "/etc/containerd/conf.d/", "/etc/cri/conf.d/",
	"/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "/var/lib/rancher/rke2/agent/etc/containerd/config.toml",
	"/etc/k0s/containerd.toml", "/run/k0s/containerd-cri.toml", "/var/snap/microk8s/current/args/containerd.toml",
	"/etc/crio/crio.conf", "/etc/crio/crio.conf.d/", "/etc/docker/daemon.json", "/etc/nvidia-container-runtime/config.toml",
}

// specifications are the folders of CDI that container runtimes read by default (CDI specification).
var specifications = []string{"/etc/cdi/", "/var/run/cdi/"}

func texts(files host.Files, places []string) []file {
	var found []file
	for _, place := range places {
		names := []string{place}
		if folder, ok := strings.CutSuffix(place, "/"); ok {
			inside, _ := files.ReadDir(folder)
			names = nil
			for _, name := range inside {
				names = append(names, place+name)
			}
		}
		for _, name := range names {
			if text, ok := content(files, name); ok {
				found = append(found, file{name, text})
			}
		}
	}
	return found
}

// settings are files of one value.
var settings = []struct{ name, path string }{
	{"SELinux enforces", "/sys/fs/selinux/enforce"},
	{"security modules", "/sys/kernel/security/lsm"},
	{"kernel lockdown", "/sys/kernel/security/lockdown"},
	{"AppArmor", "/sys/module/apparmor/parameters/enabled"},
	{"cgroup controllers (v2)", "/sys/fs/cgroup/cgroup.controllers"},
	{"module nvidia", "/sys/module/nvidia/version"},
	{"module nvidia_uvm", "/sys/module/nvidia_uvm/initstate"},
	{"module nvidia_peermem", "/sys/module/nvidia_peermem/version"},
	{"module amdgpu", "/sys/module/amdgpu/version"},
	{"module habanalabs", "/sys/module/habanalabs/version"},
	{"module neuron", "/sys/module/neuron/version"},
	{"module xe", "/sys/module/xe/initstate"},
	{"module i915", "/sys/module/i915/initstate"},
	{"NVIDIA's parameters", "/proc/driver/nvidia/params"},
}
