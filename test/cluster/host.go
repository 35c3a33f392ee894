//go:build linux

package cluster

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// HostFolder is the path, inside of every node, of the file tree of PlayHost: /sys and /proc are to be read below it.
// Device nodes are in the node's own /dev.
const HostFolder = "/run/host"

// PlayHost gives the node the file tree of a recorded host (a tar.gz of package detect), in place of the one that it
// played before. Its device nodes open as /dev/null does. The tools of the recording are not there.
func (n *Node) PlayHost(ctx context.Context, archive string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := n.clearHost(); err != nil {
		return err
	}
	devices, err := unpackHost(file, n.Host())
	if err != nil {
		return fmt.Errorf("%s: unpack %s: %w", n.Name, archive, err)
	}
	return n.makeDevices(ctx, devices)
}

// Host is the folder, as this process sees it, of the file tree that the node plays.
func (n *Node) Host() string { return n.path("host") }

// clearHost empties the folder, which is mounted and so cannot be removed.
func (n *Node) clearHost() error {
	entries, err := os.ReadDir(n.Host())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(n.Host(), entry.Name())))
	}
	return err
}

// makeDevices makes device nodes in the node's /dev.
func (n *Node) makeDevices(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	const script = `set -e; for name in "$@"; do mkdir -p "$(dirname "$name")"; rm -f "$name"; mknod -m 666 "$name" c 1 3; done`
	if output, err := n.Command(ctx, append([]string{"sh", "-c", script, "mknod"}, names...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: make device nodes: %w: %s", n.Name, err, output)
	}
	return nil
}

// RemoveDevice removes a device node of the node's /dev.
func (n *Node) RemoveDevice(ctx context.Context, name string) error {
	if output, err := n.Command(ctx, "rm", name).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", n.Name, err, output)
	}
	return nil
}

// unpackHost writes the rootfs of a recording below a folder, and returns the device nodes, which it leaves out.
func unpackHost(compressed io.Reader, folder string) (devices []string, err error) {
	unzipped, err := gzip.NewReader(compressed)
	if err != nil {
		return nil, err
	}
	for members := tar.NewReader(unzipped); ; {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			return devices, nil
		}
		if err != nil {
			return nil, err
		}
		name, isHost := strings.CutPrefix(path.Clean(header.Name), "rootfs/")
		if !isHost {
			continue
		}
		if header.Typeflag == tar.TypeChar || header.Typeflag == tar.TypeBlock {
			devices = append(devices, "/"+name)
			continue
		}
		if err := unpackMember(header, members, filepath.Join(folder, name)); err != nil {
			return nil, err
		}
	}
}

func unpackMember(header *tar.Header, content io.Reader, target string) error {
	if header.Typeflag == tar.TypeDir {
		return os.MkdirAll(target, 0o755) //nolint:gosec // pods of other users read it
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	if header.Typeflag == tar.TypeSymlink {
		return os.Symlink(header.Linkname, target)
	}
	file, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // as above
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
