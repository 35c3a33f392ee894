//go:build linux && cgo

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// node is a node's file tree. Names of files are absolute in that tree.
type node struct {
	// host is the folder of the tree.
	host  string
	files host.Files
}

func openNode(h string) node { return node{h, host.LiveFiles(h)} }

// driver is an installed driver of NVIDIA's: the root of its files, and its release.
type driver struct{ root, version string }

// driverRoots are where drivers are: in the GPU operator's driver container, on GKE's nodes, on the node itself.
var driverRoots = []string{"/run/nvidia/driver", "/home/kubernetes/bin/nvidia", "/"}

// libraryFolders are where libcuda is below a root, as NVIDIA's package looks for it (pkg/lookup, NewLibraryLocator).
var libraryFolders = []string{
	"/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib/x86_64-linux-gnu/nvidia/current",
	"/usr/lib/aarch64-linux-gnu/nvidia/current", "/lib64", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
	"/lib/x86_64-linux-gnu/nvidia/current", "/lib/aarch64-linux-gnu/nvidia/current",
}

var (
	libcuda = regexp.MustCompile(`^libcuda\.so\.(\d+\.\d+(?:\.\d+)?)$`)
	// moduleVersion is in the first line of /proc/driver/nvidia/version, before the date.
	moduleVersion = regexp.MustCompile(`Kernel Module.*?\s(\d+\.\d+(?:\.\d+)?)\s`)
)

// noDriverError is that everything could be read, and there is no driver for containers.
type noDriverError string

func (e noDriverError) Error() string { return string(e) }

// findDriver finds the driver whose libraries are of the loaded kernel module's release. Where no module is loaded, or it does
// not tell, the first one found is taken. An empty root means every place where drivers are.
func (n node) findDriver(root string) (driver, error) {
	roots := driverRoots
	if root != "" {
		roots = []string{path.Clean(root)}
	}
	loaded := n.loadedModule()
	var others []string
	var problems []error
	for _, root := range roots {
		versions, err := n.librariesBelow(root)
		problems = append(problems, err)
		for _, version := range versions {
			if loaded == "" || version == loaded {
				return driver{root, version}, nil
			}
			others = append(others, version+" below "+root)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return driver{}, err
	}
	if len(others) > 0 {
		return driver{}, noDriverError(fmt.Sprintf("the kernel's module is of release %s and the libraries are %s: restart the node, or load the module that belongs to them",
			loaded, strings.Join(others, ", ")))
	}
	return driver{}, noDriverError(fmt.Sprintf("no libcuda.so below %s: install NVIDIA's driver, or take it out of vendors", strings.Join(roots, ", ")))
}

func (n node) loadedModule() string {
	text, _ := n.files.ReadFile("/proc/driver/nvidia/version") // nothing where no module is loaded
	if match := moduleVersion.FindSubmatch(text); match != nil {
		return string(match[1])
	}
	return ""
}

// librariesBelow are the releases whose libcuda is in the folders of a root.
func (n node) librariesBelow(root string) (versions []string, err error) {
	for _, folder := range libraryFolders {
		names, err := n.files.ReadDir(path.Join(root, folder))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return versions, err
		}
		for _, name := range names {
			if match := libcuda.FindStringSubmatch(name); len(match) > 1 && !slices.Contains(versions, match[1]) {
				versions = append(versions, match[1])
			}
		}
	}
	return versions, nil
}

// hookName is the program that container runtimes run for NVIDIA's devices.
const hookName = "nvidia-cdi-hook"

// hookPaths are where it is installed, the older nvidia-ctk, which has the same hooks, last: by packages, and by the GPU
// operator's toolkit container.
var hookPaths = []string{
	"/usr/bin/" + hookName, "/usr/local/bin/" + hookName, "/usr/local/nvidia/toolkit/" + hookName, "/opt/nvidia/toolkit/" + hookName,
	"/usr/bin/nvidia-ctk", "/usr/local/nvidia/toolkit/nvidia-ctk",
}

// Hooks that a program must have, and newer ones that containers can do without. A program without one of them fails the
// container that it is run for (before release 1.17.8).
var (
	neededHooks = []string{"create-symlinks", "update-ldcache"}
	newerHooks  = []string{"enable-cuda-compat", "disable-device-node-modification"}
)

// hookProgram is a program on the node that the container runtime runs.
type hookProgram struct {
	path, ldconfig string
	// unknown are hooks that it does not have.
	unknown []string
}

// findHook finds the program, at the path where one is given.
func (n node) findHook(at string) (hookProgram, error) {
	paths := hookPaths
	if at != "" {
		paths = []string{at}
	}
	var problems []error
	for _, name := range paths {
		text, err := n.program(name)
		missing := lacking(text, neededHooks)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			problems = append(problems, err)
		case len(missing) > 0:
			problems = append(problems, fmt.Errorf("%s has no hook %s: install release 1.17 or newer", name, strings.Join(missing, ", ")))
		default:
			return hookProgram{path: name, ldconfig: n.ldconfig(), unknown: lacking(text, newerHooks)}, nil
		}
	}
	return hookProgram{}, errors.Join(append(problems, fmt.Errorf("no %s at %s, which the node's container runtime has to run: "+
		"install nvidia-container-toolkit-base there, or have it installed (agent.cdiHook.installTo of the chart)", hookName, strings.Join(paths, ", ")))...)
}

// program is the content of a program. The GPU operator installs a script of the name beside the program itself.
func (n node) program(name string) (string, error) {
	text, err := n.read(name)
	if err != nil || !strings.HasPrefix(text, "#!") {
		return text, err
	}
	return n.read(name + ".real")
}

// read returns a file of any size, with links followed inside the node's tree.
func (n node) read(name string) (string, error) {
	name, err := n.files.RealPath(name)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(n.host, name)) //nolint:gosec // of the paths above
	return string(text), err
}

// lacking returns the hooks whose names do not occur in a program.
func lacking(program string, hooks []string) []string {
	return slices.DeleteFunc(slices.Clone(hooks), func(hook string) bool { return strings.Contains(program, hook) })
}

// ldconfig is the node's own; Ubuntu has a script of the name, which runs the program beside it.
func (n node) ldconfig() string {
	for _, name := range []string{"/sbin/ldconfig.real", "/sbin/ldconfig", "/usr/sbin/ldconfig"} {
		if mode, err := n.files.Stat(name); err == nil && mode.IsRegular() {
			return name
		}
	}
	return ""
}
