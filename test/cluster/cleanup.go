package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// cleanUp removes what a cluster of this number left behind: processes, mounts, cgroups, namespaces and links.
func (c *Cluster) cleanUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return errors.Join(c.net.killProcesses(ctx), c.unmount(), c.net.removeCgroups(), c.net.remove(ctx))
}

// killProcesses kills, until none is left, what runs in the network namespace of a node or in a cgroup of the cluster:
// the shims of containers and the containers outlive their containerd.
func (n network) killProcesses(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		pids := n.processes()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone meanwhile is as good
		}
		return len(pids) == 0, nil
	})
}

func (n network) processes() []int {
	namespaces := map[string]bool{}
	for i := 1; i <= maxNodes; i++ {
		if info, err := os.Stat(namespacePath(n.namespace(i))); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				namespaces[fmt.Sprintf("net:[%d]", stat.Ino)] = true
			}
		}
	}
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || zombie(pid) {
			continue
		}
		namespace, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
		cgroups, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		if namespaces[namespace] || strings.Contains(string(cgroups), ":"+n.cgroup()+"-") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// zombie says whether a process waits for nothing but its parent.
func zombie(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
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

// removeCgroups removes the cluster's cgroups of every hierarchy, the deepest first.
func (n network) removeCgroups() error {
	roots, err := filepath.Glob("/sys/fs/cgroup" + n.cgroup() + "-*")
	if err != nil {
		return err
	}
	hierarchies, err := filepath.Glob("/sys/fs/cgroup/*" + n.cgroup() + "-*")
	if err != nil {
		return err
	}
	var errs []error
	for _, root := range append(roots, hierarchies...) {
		var folders []string
		_ = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				folders = append(folders, name)
			}
			return nil
		})
		for _, folder := range slices.Backward(folders) {
			if err := syscall.Rmdir(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("cgroup %s: %w", folder, err))
			}
		}
	}
	return errors.Join(errs...)
}
