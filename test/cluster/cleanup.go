//go:build linux

package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// cleanUp removes what a cluster of this number left behind: processes, mounts, namespaces and links.
func (c *Cluster) cleanUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return errors.Join(c.net.killProcesses(ctx), c.unmount(), c.net.remove(ctx))
}

// killProcesses kills, until none is left, what runs in the network namespace of a node, and the processes that those started:
// the shims of containers outlive their containerd, and hold the containers.
func (n network) killProcesses(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		pids := n.processes()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone meanwhile is as good
		}
		return len(pids) == 0, nil
	})
}

// processes returns the processes in the nodes' network namespaces, each with its descendants.
func (n network) processes() []int {
	namespaces := n.namespaces()
	entries, _ := os.ReadDir("/proc")
	children := map[int][]int{}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		parent, ok := parentOf(pid)
		if !ok {
			continue
		}
		children[parent] = append(children[parent], pid)
		if namespace, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); namespaces[namespace] {
			found = append(found, pid)
		}
	}
	seen := map[int]bool{}
	for i := 0; i < len(found); i++ {
		if pid := found[i]; !seen[pid] {
			seen[pid] = true
			found = append(found, children[pid]...)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// namespaces are the nodes' network namespaces as /proc/PID/ns/net names them.
func (n network) namespaces() map[string]bool {
	namespaces := map[string]bool{}
	for i := 1; i <= maxNodes; i++ {
		if info, err := os.Stat(namespacePath(n.namespace(i))); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				namespaces[fmt.Sprintf("net:[%d]", stat.Ino)] = true
			}
		}
	}
	return namespaces
}

// parentOf returns the parent of a process; false where the process is gone, or a zombie that waits for nothing but its parent.
func parentOf(pid int) (int, bool) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	if len(fields) < 2 || fields[0] == "Z" {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}

// unmount detaches every mount below the folder of the cluster that this process sees, the deepest first.
func (c *Cluster) unmount() error {
	file, err := os.Open("/proc/self/mounts")
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	var points []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 1 && strings.HasPrefix(fields[1], c.options.Dir+"/") {
			points = append(points, fields[1])
		}
	}
	slices.Sort(points)
	var errs []error
	for _, point := range slices.Backward(points) {
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil {
			errs = append(errs, fmt.Errorf("unmount %s: %w", point, err))
		}
	}
	return errors.Join(errs...)
}
