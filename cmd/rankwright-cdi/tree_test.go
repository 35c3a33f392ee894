//go:build linux && cgo

package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/nvml/nvmltest"
)

// release is that of the driver which the library of nvmltest plays.
const release = "580.105.08"

// hookText is a program of the toolkit as far as its hooks are looked for in it.
const hookText = "ELF create-symlinks update-ldcache enable-cuda-compat disable-device-node-modification"

// tree makes a node's files: `name`, `name -> target`, `name=content`, and a socket for a name that ends in socket. Programs
// are executable. NVIDIA's management library is one that can be loaded.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	// Short, since the paths of sockets are.
	host, err := os.MkdirTemp("/tmp", "node") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(host) })
	for _, name := range names {
		plant(t, host, name)
	}
	return host
}

func plant(t *testing.T, host, name string) {
	t.Helper()
	name, target, isLink := strings.Cut(name, " -> ")
	name, content, _ := strings.Cut(name, "=")
	file := filepath.Join(host, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a test's
		t.Fatal(err)
	}
	var err error
	switch {
	case isLink:
		err = os.Symlink(target, file)
	case strings.HasSuffix(name, "socket"):
		var socket net.Listener
		if socket, err = new(net.ListenConfig).Listen(t.Context(), "unix", file); err == nil {
			t.Cleanup(func() { _ = socket.Close() })
		}
	case strings.Contains(name, "libnvidia-ml.so."+release):
		shutdown, err := filepath.Abs("testdata/shutdown.c")
		if err != nil {
			t.Fatal(err)
		}
		library := nvmltest.Library(t, "pair", shutdown)
		plantCopy(t, filepath.Join(library, nvmltest.Name), file)
		plantCopy(t, filepath.Join(library, nvmltest.FactsName), filepath.Join(filepath.Dir(file), nvmltest.FactsName))
	default:
		err = os.WriteFile(file, []byte(content), 0o755) //nolint:gosec // programs are among them
	}
	if err != nil {
		t.Fatal(err)
	}
}

func plantCopy(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from) //nolint:gosec // a test's
	if err == nil {
		err = os.WriteFile(to, content, 0o755) //nolint:gosec // likewise
	}
	if err != nil {
		t.Fatal(err)
	}
}

// below puts a folder in front of names.
func below(folder string, names ...string) []string {
	var all []string
	for _, name := range names {
		all = append(all, folder+"/"+name)
	}
	return all
}

// libraries are those of a driver, as its installer puts them into a folder: files of its release, and links to them.
func libraries(folder string) []string {
	return below(folder,
		"libcuda.so."+release, "libcuda.so.1 -> libcuda.so."+release, "libcuda.so -> libcuda.so.1",
		"libnvidia-ml.so."+release, "libnvidia-ml.so.1 -> libnvidia-ml.so."+release,
		"libcudadebugger.so."+release, "libnvidia-ptxjitcompiler.so."+release, "libnvidia-nvvm.so."+release, "libnvidia-opencl.so."+release,
		"libnvcuvid.so."+release, "libnvidia-encode.so."+release,
	)
}
