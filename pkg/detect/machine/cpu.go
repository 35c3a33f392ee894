// Package machine describes the host itself: processors, memory, NUMA nodes, limits, network ports, disks, system and cloud.
package machine

import (
	"context"
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// CPU is the backend that reads the host itself: processors, memory, NUMA nodes, limits, system and cloud. It lists no
// devices; what it finds is the status's host.
func CPU() backend.Backend { return backend.New("cpu", detectCPU) }

func detectCPU(ctx context.Context, h *host.Host) (backend.Found, error) {
	files := h.Files
	if host.IsWindows(files) && !host.IsLinux(files) {
		return backend.Found{Host: &v1alpha1.Host{OS: "Windows"}}, nil
	}
	if host.IsMacOS(files) {
		return detectMacHost(ctx, h)
	}
	var facts v1alpha1.Host
	var limits cgroupLimits
	unread := make([]error, 5)
	facts.CPU, unread[0] = readCPU(files)
	facts.Memory.TotalMiB, unread[1] = host.ReadMemTotal(files, "/proc/meminfo")
	facts.NUMANodes, unread[2] = readNUMANodes(files)
	if facts.CPU.Threads == 0 && facts.Memory.TotalMiB == 0 {
		return backend.Found{}, host.OfKind(host.ErrorKind(unread...), fmt.Errorf("neither processors nor memory can be read: %s: the host's procfs is needed at /proc", host.JoinProblems(unread...)))
	}
	limits, unread[3] = readCgroupLimits(files)
	facts.CPU.LimitMilli = limits.milliCPU
	if limits.memoryMiB < facts.Memory.TotalMiB {
		facts.Memory.LimitMiB = limits.memoryMiB
	}
	facts.Kernel, _, unread[4] = host.ReadText(files, "/proc/sys/kernel/osrelease")
	facts.OS = readOSName(files)
	facts.Cloud, facts.InstanceType = host.ReadCloud(files)
	facts.Region, facts.Zone = host.ReadPlace(files)
	facts.Container = readContainer(files)
	facts.Kubernetes = readKubernetes(files)
	found := backend.Found{Host: &facts}
	found.Degrade(unread...)
	return found, nil
}

// readOSName returns PRETTY_NAME of os-release(5).
func readOSName(files host.Files) string {
	for _, name := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		text, _, _ := host.ReadText(files, name)
		for key, value := range host.Pairs(text, "=") {
			if key == "PRETTY_NAME" {
				return strings.Trim(value, `"'`)
			}
		}
	}
	return ""
}
