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
	"slices"
	"strings"
)

// HostFolder is the path, inside of every node, of the file tree of PlayHost: a root folder with /sys and /proc of the
// recorded host, its tools, and the node's own /dev.
const HostFolder = "/run/host"

// PlayHost gives the node the file tree of a recorded host (a tar.gz of package detect), in place of the one that it
// played before: its tools print what they printed, and its device nodes can be opened, but not by a container that was
// not given them. Where the recording has what NVIDIA's library told, that is installed too, and tells the same.
func (n *Node) PlayHost(ctx context.Context, archive string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := n.clearHost(ctx); err != nil {
		return err
	}
	recorded, err := unpackHost(file, n.Host())
	if err != nil {
		return fmt.Errorf("%s: unpack %s: %w", n.Name, archive, err)
	}
	if err := n.installTools(ctx, recorded.commands); err != nil {
		return err
	}
	return n.makeDevices(ctx, recorded.nodes())
}

// recorded is what a recording has beside files.
type recorded struct {
	devices []string
	// commands is the file of what tools printed.
	commands []byte
}

// nodes returns the device nodes, with the nodes of NVIDIA's driver that belong to no GPU: detection does not read them, so that
// recordings need not have them.
func (r recorded) nodes() []string {
	if slices.Contains(r.devices, "/dev/nvidia0") && !slices.Contains(r.devices, "/dev/nvidiactl") {
		return append([]string{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}, r.devices...)
	}
	return r.devices
}

// Host returns the folder, as this process sees it, of the file tree that the node plays.
func (n *Node) Host() string { return n.path("host") }

// clearHost removes the host's files and device nodes. The folders stay, since containers have them mounted.
func (n *Node) clearHost(ctx context.Context) error {
	entries, err := os.ReadDir(n.Host())
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(n.Host(), "*", "*"))
	for _, entry := range entries {
		if !entry.IsDir() {
			old = append(old, filepath.Join(n.Host(), entry.Name()))
		}
	}
	for _, name := range old {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return errors.Join(err, n.removeDevices(ctx))
}

// unpackHost writes the rootfs of a recording below a folder, and returns what it leaves out.
func unpackHost(compressed io.Reader, folder string) (found recorded, err error) {
	unzipped, err := gzip.NewReader(compressed)
	if err != nil {
		return found, err
	}
	for members := tar.NewReader(unzipped); ; {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return found, err
		}
		if header.Name == "commands.jsonl" {
			if found.commands, err = io.ReadAll(members); err != nil {
				return found, err
			}
		}
		name, isHost := strings.CutPrefix(path.Clean(header.Name), "rootfs/")
		if !isHost {
			continue
		}
		if header.Typeflag == tar.TypeChar || header.Typeflag == tar.TypeBlock {
			found.devices = append(found.devices, "/"+name)
			continue
		}
		if err := unpackMember(header, members, filepath.Join(folder, name)); err != nil {
			return found, err
		}
	}
}

func unpackMember(header *tar.Header, content io.Reader, target string) error {
	if header.Typeflag == tar.TypeDir {
		return os.MkdirAll(target, 0o755) //nolint:gosec // pods of other users read it
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil { //nolint:gosec // pods of other users read it
		return err
	}
	if header.Typeflag == tar.TypeSymlink {
		return os.Symlink(header.Linkname, target)
	}
	file, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // pods of other users read it
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
