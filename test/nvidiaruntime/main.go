// Command nvidiaruntime is NVIDIA's container runtime in tests: runc, which is told first to give the played host's driver to
// containers that ask for all GPUs by their environment. Any other container goes to runc unchanged.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Where a node has the played host (cluster.HostFolder), the host its library, and a container the folder of that library.
const (
	hostFolder    = "/run/host"
	libraryFolder = "/usr/lib/x86_64-linux-gnu"
	driverFolder  = "/run/nvidia-driver"
	library       = "libnvidia-ml.so.1"
)

// nodes are the patterns of the device nodes that a container with all GPUs gets.
var nodes = []string{"/dev/nvidiactl", "/dev/nvidia-uvm*", "/dev/nvidia[0-9]*"}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nvidiaruntime:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if bundle := bundleOf(args); bundle != "" {
		if err := prepare(bundle, "/"); err != nil {
			return err
		}
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	return syscall.Exec(runc, append([]string{"runc"}, args...), os.Environ()) //nolint:gosec // what it is for
}

// bundleOf returns the folder of the container to be created; empty for any other command.
func bundleOf(args []string) string {
	if !slices.Contains(args, "create") {
		return ""
	}
	for i, arg := range args {
		if folder, joined := strings.CutPrefix(arg, "--bundle="); joined {
			return folder
		}
		if (arg == "--bundle" || arg == "-b") && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// prepare changes the container in a folder, as it asks, on a node whose file tree is at root.
func prepare(bundle, root string) error {
	name := filepath.Join(bundle, "config.json")
	content, err := os.ReadFile(name) //nolint:gosec // of the container
	if err != nil {
		return err
	}
	var spec specs.Spec
	if err := json.Unmarshal(content, &spec); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if spec.Process == nil || !slices.Contains(spec.Process.Env, "NVIDIA_VISIBLE_DEVICES=all") {
		return nil
	}
	if err := addNodes(&spec, root); err != nil {
		return err
	}
	if slices.Contains(spec.Process.Env, "NVIDIA_DRIVER_CAPABILITIES=utility") {
		if err := addLibrary(&spec, bundle, root); err != nil {
			return err
		}
	}
	if content, err = json.Marshal(&spec); err != nil {
		return err
	}
	return os.WriteFile(name, content, 0o600)
}

// addNodes gives the container all of NVIDIA's device nodes, and the right to open them.
func addNodes(spec *specs.Spec, root string) error {
	for _, pattern := range nodes {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("no device %s: the driver is not loaded", pattern)
		}
		for _, name := range found {
			var stat syscall.Stat_t
			if err := syscall.Stat(name, &stat); err != nil {
				return err
			}
			// Numbers as Linux packs them (include/linux/kdev_t.h, new_encode_dev).
			major, minor := int64(stat.Rdev>>8&0xfff), int64(stat.Rdev&0xff|stat.Rdev>>12&0xfff00)
			mode := os.FileMode(stat.Mode & 0o777)
			relative, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			spec.Linux.Devices = append(spec.Linux.Devices, specs.LinuxDevice{
				Path: "/" + relative, Type: "c", Major: major, Minor: minor, FileMode: &mode, UID: &stat.Uid, GID: &stat.Gid,
			})
			spec.Linux.Resources.Devices = append(spec.Linux.Resources.Devices, specs.LinuxDeviceCgroup{
				Allow: true, Type: "c", Major: &major, Minor: &minor, Access: "rw",
			})
		}
	}
	return nil
}

// addLibrary gives the container the folder of the driver's library, which then tells what it tells on the host, and a link to
// the library where the loader looks.
func addLibrary(spec *specs.Spec, bundle, root string) error {
	source := filepath.Join(root, hostFolder, libraryFolder)
	if _, err := os.Stat(filepath.Join(source, library)); err != nil {
		return fmt.Errorf("the host's driver: %w", err)
	}
	spec.Mounts = append(spec.Mounts, specs.Mount{
		Destination: driverFolder, Type: "bind", Source: source, Options: []string{"rbind", "ro", "nosuid", "nodev"},
	})
	container := spec.Root.Path
	if !filepath.IsAbs(container) {
		container = filepath.Join(bundle, container)
	}
	folder := filepath.Join(container, libraryFolder)
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // a container's folder of libraries
		return err
	}
	err := os.Symlink(filepath.Join(driverFolder, library), filepath.Join(folder, library))
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}
