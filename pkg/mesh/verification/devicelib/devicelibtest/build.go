// Package devicelibtest builds what tests of links between devices need: a library of our own that plays GPUs and NCCL between
// processes, and the program that loads it.
package devicelibtest

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/mesh/verification/devicelib"
)

//go:embed testdata/player.c
var source []byte

var built struct {
	sync.Once
	folder string
	err    error
}

// build compiles library and program, once for all tests of a process.
func build(compiler string) error {
	folder, err := os.MkdirTemp("", "rankwright-devicelib-")
	if err != nil {
		return err
	}
	built.folder = folder
	code, player, program := filepath.Join(folder, "player.c"), filepath.Join(folder, "libnccl.so.2"), filepath.Join(folder, devicelib.Program)
	if err := os.WriteFile(code, source, 0o600); err != nil {
		return err
	}
	if output, err := exec.Command(compiler, "-shared", "-fPIC", "-O1", "-o", player, code, "-lpthread").CombinedOutput(); err != nil { //nolint:gosec // a test's own arguments
		return fmt.Errorf("%w: %s", err, output)
	}
	if err := repository.Build(context.Background(), program, "cmd/"+devicelib.Program); err != nil {
		return err
	}
	return os.Symlink("libnccl.so.2", filepath.Join(folder, "libcuda.so.1"))
}

// Clean removes what was built, after all tests of a process.
func Clean() { _ = os.RemoveAll(built.folder) }

// Player is a place where GPUs of several pods are played.
type Player struct{ folder string }

// New makes a place with faults, a line each, as the player's source describes them.
func New(t testing.TB, faults string) *Player {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("needs a C compiler to build a library to load:", err)
	}
	built.Do(func() { built.err = build(compiler) })
	if built.err != nil {
		t.Fatal(built.err)
	}
	p := &Player{t.TempDir()}
	if err := os.WriteFile(filepath.Join(p.folder, "faults"), []byte(faults), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// Program returns the path of a program that starts the real program as a pod with so many GPUs.
func (p *Player) Program(t testing.TB, pod string, gpus int) string {
	t.Helper()
	path := filepath.Join(p.folder, "start-"+pod)
	script := fmt.Sprintf("#!/bin/sh\nexport LD_LIBRARY_PATH=%q PLAYER_FOLDER=%q PLAYER_POD=%q PLAYER_GPUS=%d\nexec %q\n",
		built.folder, p.folder, pod, gpus, filepath.Join(built.folder, devicelib.Program))
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return path
}
