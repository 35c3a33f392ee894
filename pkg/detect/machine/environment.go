package machine

import (
	"regexp"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// containerEvidence says which file holds a word that tells a container runtime. An empty word asks for the file alone.
// The order is from what a runtime itself says to what its traces suggest.
var containerEvidence = []struct{ file, word, runtime string }{
	{"/run/.containerenv", "", "podman"},
	{"/.dockerenv", "", "docker"},
	{"/proc/1/cgroup", "cri-containerd", "containerd"},
	{"/proc/1/cgroup", "crio-", "cri-o"},
	{"/proc/1/cgroup", "libpod-", "podman"},
	{"/proc/1/cgroup", "/docker", "docker"},
	{"/proc/1/cgroup", "containerd", "containerd"},
	{"/proc/1/cgroup", "/lxc", "lxc"},
	{"/run/systemd/container", "docker", "docker"},
	{"/run/systemd/container", "podman", "podman"},
	{"/run/systemd/container", "lxc", "lxc"},
}

// rootMountEvidence says what in the mount of `/` tells a runtime: with a cgroup namespace of version 2,
// /proc/1/cgroup reads `0::/` in every container.
var rootMountEvidence = []struct{ word, runtime string }{
	{"io.containerd", "containerd"},
	{"/containerd/", "containerd"},
	{"/docker/", "docker"},
	{"/containers/storage/", "cri-o"},
}

// readContainer returns the container runtime around the detecting process; empty on a bare host, `unknown` in a
// container of no known runtime.
func readContainer(files host.Files) string {
	mountinfo, _, _ := host.ReadText(files, "/proc/self/mountinfo")
	mounts := parseMountInfo(mountinfo)
	for _, evidence := range containerEvidence {
		if evidence.word == "" && hasDiskAsRoot(mounts) {
			continue
		}
		text, ok, err := host.ReadText(files, evidence.file)
		if ok && err == nil && strings.Contains(text, evidence.word) {
			return evidence.runtime
		}
	}
	inContainer := false
	for _, m := range mounts {
		inContainer = inContainer || strings.Contains(m.root, "/containers/") && m.point == "/etc/hosts"
		if m.point != "/" || m.kind != "overlay" {
			continue
		}
		for _, evidence := range rootMountEvidence {
			if strings.Contains(m.options, evidence.word) {
				return evidence.runtime
			}
		}
	}
	if inContainer || readKubernetes(files) {
		return "unknown"
	}
	return ""
}

// hasDiskAsRoot says whether `/` is the top of a file system on a disk, as no container has it. A virtual machine that was
// built from a container's image still has the file that tells a container.
func hasDiskAsRoot(mounts []mount) bool {
	disk := false
	for _, m := range mounts {
		if m.point == "/" {
			disk = m.root == "/" && strings.HasPrefix(m.source, "/dev/")
		}
	}
	return disk
}

// kubeletMounts are the files that the kubelet mounts into every container, by where they come from: a folder of the
// kubelet's for the pod, wherever the kubelet keeps its files. On a host that runs pods such folders are mounted too, but
// never there.
var kubeletMounts = map[string]*regexp.Regexp{
	"/etc/hosts":           regexp.MustCompile(`/pods/[0-9a-f-]{32,36}/etc-hosts$`),
	"/dev/termination-log": regexp.MustCompile(`/pods/[0-9a-f-]{32,36}/containers/[^/]+/[^/]+$`),
}

// kubernetesEvidence says which file holds a word that tells a pod. A pod without a token has no service account's folder,
// and one with a cgroup namespace of version 2 no word of Kubernetes in its cgroup.
var kubernetesEvidence = []struct{ file, word string }{
	{"/proc/self/cgroup", "kubepods"},
	{"/proc/1/cgroup", "kubepods"},
	{"/etc/hosts", "# Kubernetes-managed hosts file"},
}

// readKubernetes says whether the detecting process runs in a pod. It is true of an agent that looks at its host's files
// from a pod, as long as the host's procfs is among them: /proc/self is the process that reads it.
func readKubernetes(files host.Files) bool {
	mountinfo, _, _ := host.ReadText(files, "/proc/self/mountinfo")
	for _, m := range parseMountInfo(mountinfo) {
		if source := kubeletMounts[m.point]; source != nil && source.MatchString(m.root) {
			return true
		}
	}
	for _, evidence := range kubernetesEvidence {
		if text, _, _ := host.ReadText(files, evidence.file); strings.Contains(text, evidence.word) {
			return true
		}
	}
	return host.Exists(files, "/var/run/secrets/kubernetes.io/serviceaccount")
}
