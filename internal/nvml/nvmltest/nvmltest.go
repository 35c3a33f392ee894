// Package nvmltest builds what tests of NVML need: a library of our own that plays hosts, and the program that asks it.
package nvmltest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

//go:embed testdata/nvml.c
var source []byte

// Name is the library's file name, which the loader looks for.
const Name = "libnvidia-ml.so.1"

// Library compiles the library into a folder of its own, playing the scenario, and skips the test where there is no C
// compiler. Flags are the compiler's: -DOLD leaves out what old libraries lack.
func Library(t testing.TB, scenario string, flags ...string) (folder string) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skipf("needs a C compiler to build a library to load: %v", err)
	}
	folder = t.TempDir()
	write(t, filepath.Join(folder, "nvml.c"), source)
	write(t, filepath.Join(folder, "scenario"), []byte(scenario+"\n"))
	args := append([]string{"-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(folder, Name)}, flags...)
	command := exec.Command(compiler, append(args, filepath.Join(folder, "nvml.c"), "-ldl")...) //nolint:gosec // a test's own arguments
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return folder
}

var built struct {
	sync.Once
	program []byte
	problem string
}

// Program builds rankwright-nvml as releases are built, once for all tests of a process, and returns the folder that it
// is in.
func Program(t testing.TB) (folder string) {
	t.Helper()
	folder = t.TempDir()
	built.Do(func() {
		name := filepath.Join(folder, "built")
		command := exec.Command("go", "build", "-o", name, "github.com/rankwright/rankwright/cmd/rankwright-nvml") //nolint:gosec // constant
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := command.CombinedOutput(); err != nil {
			built.problem = err.Error() + ": " + string(output)
			return
		}
		program, err := os.ReadFile(name)
		if err != nil {
			built.problem = err.Error()
		}
		built.program = program
	})
	if built.problem != "" {
		t.Fatal(built.problem)
	}
	if err := os.WriteFile(filepath.Join(folder, "rankwright-nvml"), built.program, 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return folder
}

func write(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
