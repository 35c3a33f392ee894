// Package nvmltest builds what tests of NVML need: a library of our own that plays hosts, and the program that asks it.
package nvmltest

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/rankwright/rankwright/internal/repository"
)

//go:embed testdata
var sources embed.FS

// Name is the library's file name, which the loader looks for.
const Name = "libnvidia-ml.so.1"

// Compile compiles the library into a folder under a name. Flags are the compiler's: -DOLD leaves out what old libraries
// lack. What the library tells is Facts to be written beside it.
func Compile(ctx context.Context, folder, name string, flags ...string) error {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		return fmt.Errorf("the library that plays NVML: %w: install a C compiler", err)
	}
	work, err := os.MkdirTemp("", "nvmltest-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.CopyFS(work, sources); err != nil {
		return err
	}
	args := append([]string{"-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(folder, name)}, flags...)
	command := exec.CommandContext(ctx, compiler, append(args, filepath.Join(work, "testdata", "nvml.c"), "-ldl")...) //nolint:gosec // a test's own
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// Library compiles the library into a folder of its own, playing the scenario with device nodes that open, and skips the
// test where there is no C compiler.
func Library(t testing.TB, scenario string, flags ...string) (folder string) {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skipf("needs a C compiler to build a library to load: %v", err)
	}
	facts, known := scenarios[scenario]
	if !known {
		t.Fatalf("no scenario %q", scenario)
	}
	folder = t.TempDir()
	if err := Compile(t.Context(), folder, Name, flags...); err != nil {
		t.Fatal(err)
	}
	played := facts()
	played["dev"] = filepath.Join(folder, "dev")
	nodes := fstest.MapFS{"nvidiactl": {Mode: 0o600}}
	for minor := range 8 {
		nodes[fmt.Sprint("nvidia", minor)] = &fstest.MapFile{Mode: 0o600}
	}
	if err := errors.Join(os.CopyFS(played["dev"], nodes), played.Write(folder)); err != nil {
		t.Fatal(err)
	}
	return folder
}

var built = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "nvmltest-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	name := filepath.Join(folder, "built")
	if err := repository.Build(context.Background(), name, "cmd/rankwright-nvml"); err != nil {
		return nil, err
	}
	return os.ReadFile(name)
})

// Program builds rankwright-nvml as releases are built, once for all tests of a process, and returns the folder that it
// is in.
func Program(t testing.TB) (folder string) {
	t.Helper()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "rankwright-nvml"), program, 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return folder
}
