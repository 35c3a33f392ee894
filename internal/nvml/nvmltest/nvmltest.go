// Package nvmltest builds what tests of NVML need: a library of our own that plays hosts, and the program that asks it.
package nvmltest

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

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
	for _, node := range []string{"nvidiactl", "nvidia0", "nvidia1", "nvidia2", "nvidia3", "nvidia4", "nvidia5", "nvidia6", "nvidia7"} {
		write(t, filepath.Join(played["dev"], node), nil)
	}
	if err := played.Write(folder); err != nil {
		t.Fatal(err)
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
		if err := repository.Build(context.Background(), name, "cmd/rankwright-nvml"); err != nil {
			built.problem = err.Error()
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
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
