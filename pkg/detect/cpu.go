package detect

import (
	"context"
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// CPU is the backend that reads the host itself: processors, memory, NUMA nodes, limits, system and cloud. It lists no
// devices; what it finds is the status's host.
func CPU() Backend { return newBackend("cpu", detectCPU) }

func detectCPU(ctx context.Context, host *Host) (Found, error) {
	files := host.Files
	if isWindows(files) && !isLinux(files) {
		return Found{Host: &v1alpha1.Host{OS: "Windows"}}, nil
	}
	if isMacOS(files) {
		return detectMacHost(ctx, host)
	}
	var unread []error
	note := func(err error) { unread = append(unread, err) }
	var facts v1alpha1.Host
	var err error

	facts.CPU, err = readCPU(files)
	note(err)
	facts.Memory.TotalMiB, err = readMemTotal(files, "/proc/meminfo")
	note(err)
	facts.NUMANodes, err = readNUMANodes(files)
	note(err)
	if facts.CPU.Threads == 0 && facts.Memory.TotalMiB == 0 {
		return Found{}, ofKind(errorKindOf(unread...), fmt.Errorf("neither processors nor memory can be read: %s: the host's procfs is needed at /proc", joinProblems(unread...)))
	}
	limits, err := readCgroupLimits(files)
	note(err)
	facts.CPU.LimitMilli = limits.milliCPU
	if limits.memoryMiB < facts.Memory.TotalMiB {
		facts.Memory.LimitMiB = limits.memoryMiB
	}
	facts.Kernel, _, err = readText(files, "/proc/sys/kernel/osrelease")
	note(err)
	facts.OS = readOSName(files)
	facts.Cloud, facts.InstanceType = readCloud(files)
	facts.Region, facts.Zone = readPlace(files)
	facts.Container = readContainer(files)
	facts.Kubernetes = readKubernetes(files)
	found := Found{Host: &facts}
	found.degrade(unread...)
	return found, nil
}

// readOSName returns PRETTY_NAME of os-release(5).
func readOSName(files Files) string {
	for _, name := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		text, _, _ := readText(files, name)
		for line := range strings.Lines(text) {
			if value, found := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); found {
				return strings.Trim(value, `"'`)
			}
		}
	}
	return ""
}
