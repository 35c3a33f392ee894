//go:build linux

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
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

// processes returns the processes in the nodes' network namespaces, each with its descendants. A zombie waits for nothing but its
// parent, and does not count.
func (n network) processes() []int {
	namespaces := n.namespaces()
	running, _ := procfs.AllProcs()
	children := map[int][]int{}
	var found []int
	for _, p := range running {
		stat, err := p.Stat()
		if err != nil || stat.State == "Z" {
			continue
		}
		children[stat.PPID] = append(children[stat.PPID], p.PID)
		if own, err := p.Namespaces(); err == nil && namespaces[uint64(own["net"].Inode)] {
			found = append(found, p.PID)
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

// namespaces are the inodes of the nodes' network namespaces.
func (n network) namespaces() map[uint64]bool {
	namespaces := map[uint64]bool{}
	for i := 1; i <= maxNodes; i++ {
		var stat syscall.Stat_t
		if syscall.Stat(namespacePath(n.namespace(i)), &stat) == nil {
			namespaces[stat.Ino] = true
		}
	}
	return namespaces
}

// unmount detaches every mount below the folder of the cluster that this process sees, the deepest first.
func (c *Cluster) unmount() error {
	mounts, err := procfs.GetMounts()
	if err != nil {
		return err
	}
	slices.SortFunc(mounts, func(a, b *procfs.MountInfo) int { return cmp.Compare(b.MountPoint, a.MountPoint) })
	var errs []error
	for _, mount := range mounts {
		if !strings.HasPrefix(mount.MountPoint, c.options.Dir+"/") {
			continue
		}
		if err := syscall.Unmount(mount.MountPoint, syscall.MNT_DETACH); err != nil {
			errs = append(errs, fmt.Errorf("unmount %s: %w", mount.MountPoint, err))
		}
	}
	return errors.Join(errs...)
}
