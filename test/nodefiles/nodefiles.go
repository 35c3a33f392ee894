// Package nodefiles makes files of nodes for tests, above all the files of NVIDIA's driver.
package nodefiles

import (
	_ "embed"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/nvml/nvmltest"
)

// Release is the version of the driver whose library nvmltest plays. The names of the driver's files end in it.
const Release = "580.105.08"

// Plant makes files below a folder: `name`, `name -> target`, `name=content`, and a socket for a name that ends in socket.
// Programs are executable, and NVIDIA's management library can be loaded.
func Plant(t testing.TB, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		plant(t, root, name)
	}
}

func plant(t testing.TB, root, name string) {
	t.Helper()
	name, target, isLink := strings.Cut(name, " -> ")
	name, content, _ := strings.Cut(name, "=")
	file := filepath.Join(root, name)
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
	case strings.Contains(name, "libnvidia-ml.so."+Release):
		library := nvmltest.Library(t, "pair")
		Copy(t, filepath.Join(library, nvmltest.Name), file)
		Copy(t, filepath.Join(library, nvmltest.FactsName), filepath.Join(filepath.Dir(file), nvmltest.FactsName))
	default:
		err = os.WriteFile(file, []byte(content), 0o755) //nolint:gosec // programs are among them
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Copy makes a file that has the content of another one, and can be run.
func Copy(t testing.TB, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from) //nolint:gosec // a test's
	if err == nil {
		err = os.WriteFile(to, content, 0o755) //nolint:gosec // it can be run
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Below puts a folder in front of names.
func Below(folder string, names ...string) []string {
	var all []string
	for _, name := range names {
		all = append(all, folder+"/"+name)
	}
	return all
}

// Libraries lists what an installer of NVIDIA's driver puts into a folder: libraries whose names end in the release, and links to them.
func Libraries(folder string) []string {
	return Below(folder,
		"libcuda.so."+Release, "libcuda.so.1 -> libcuda.so."+Release, "libcuda.so -> libcuda.so.1",
		"libnvidia-ml.so."+Release, "libnvidia-ml.so.1 -> libnvidia-ml.so."+Release,
		"libcudadebugger.so."+Release, "libnvidia-ptxjitcompiler.so."+Release, "libnvidia-nvvm.so."+Release, "libnvidia-opencl.so."+Release,
		"libnvcuvid.so."+Release, "libnvidia-encode.so."+Release,
	)
}

//go:embed testdata/libcuda.c
var libcudaSource string

// CompileLibcuda puts a libcuda that can be loaded into a folder, in place of the one that was planted.
func CompileLibcuda(t testing.TB, folder string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", //nolint:gosec // a test's own
		"-o", filepath.Join(folder, "libcuda.so."+Release), "-x", "c", "-")
	command.Stdin = strings.NewReader(libcudaSource)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("compile libcuda: %v: %s", err, output)
	}
}
