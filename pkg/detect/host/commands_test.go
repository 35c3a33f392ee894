//go:build unix

package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// tool writes a shell script as a tool and returns the commands that find it.
func tool(t *testing.T, script string) (Commands, string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tool"), []byte("#!/bin/sh\n"+script), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return newCommands("/", []string{folder, "/usr/bin", "/bin"}, nil), folder
}

func TestCommandsPrintMoreThanAPipeHolds(t *testing.T) {
	commands, _ := tool(t, `head -c 300000 /dev/zero | tr '\0' x; head -c 200000 /dev/zero | tr '\0' y >&2; exit 3`)
	result, err := commands.Run(t.Context(), "tool")
	if err != nil || result.ExitCode != 3 || len(result.Stdout) != 300000 || len(result.Stderr) != 200000 {
		t.Errorf("exit code %d, %d and %d bytes, %v", result.ExitCode, len(result.Stdout), len(result.Stderr), err)
	}
}

func TestCommandsPrintTooMuch(t *testing.T) {
	commands, _ := tool(t, `exec cat /dev/zero`)
	if _, err := commands.Run(t.Context(), "tool"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("endless output: %v", err)
	}
}

func TestCommandsSeeNothingOfTheCaller(t *testing.T) {
	t.Setenv("CALLER_SECRET", "x")
	t.Setenv("LD_PRELOAD_CHECK", "x")
	commands, folder := tool(t, `env; echo "args: $*"; echo "stdin: $(cat)"; pwd`)
	result, err := commands.Run(t.Context(), "tool", "-q", "a b")
	text := string(result.Stdout)
	if err != nil || strings.Contains(text, "CALLER_SECRET") || strings.Contains(text, "LD_") {
		t.Errorf("%v, environment:\n%s", err, text)
	}
	for _, want := range []string{"PATH=" + folder + ":/usr/bin:/bin\n", "LC_ALL=C\n", "args: -q a b\n", "stdin: \n", "/\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q in:\n%s", want, text)
		}
	}
}

func TestCommandsKnowDriverLibraries(t *testing.T) {
	_, folder := tool(t, `echo "$LD_LIBRARY_PATH"`)
	commands := newCommands("/", []string{folder}, []string{folder, filepath.Join(folder, "absent")})
	result, err := commands.Run(t.Context(), "tool")
	if err != nil || strings.TrimSpace(string(result.Stdout)) != folder {
		t.Errorf("%q, %v", result.Stdout, err)
	}
}

func TestCommandsRunOnlyInstalledTools(t *testing.T) {
	commands, folder := tool(t, ``)
	t.Setenv("PATH", folder)
	if err := os.WriteFile(filepath.Join(folder, "plain"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	other := newCommands("/", []string{t.TempDir()}, nil)
	if _, err := other.Run(t.Context(), "tool"); !errors.Is(err, ErrNoCommand) {
		t.Errorf("the caller's PATH was searched: %v", err)
	}
	if _, err := commands.Run(t.Context(), "plain"); !errors.Is(err, ErrNoCommand) {
		t.Errorf("a file that is no program: %v", err)
	}
	for _, argv := range [][]string{nil, {""}, {filepath.Join(folder, "tool")}, {"../tool"}} {
		if _, err := commands.Run(t.Context(), argv...); err == nil {
			t.Errorf("%q was run", argv)
		}
	}
}

// A grandchild holds the writing end of a FIFO: reading its other end ends when the grandchild does.
func TestCommandsLeaveNoGrandchild(t *testing.T) {
	tests := map[string]struct {
		script string
		cancel bool
	}{
		"killed while it waits":  {script: `exec 3>%s; sleep 600 & echo started >&3; wait`, cancel: true},
		"exits before its child": {script: `exec 3>%s; sleep 600 >/dev/null 2>&1 & echo started >&3`},
		"leaves its output open": {script: `exec 3>%s; sleep 600 & echo started >&3`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			commands, _ := tool(t, fmt.Sprintf(test.script, fifo))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ran := make(chan error, 1)
			go func() {
				_, err := commands.Run(ctx, "tool")
				ran <- err
			}()
			file, err := os.Open(fifo)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close() //nolint:errcheck // only read
			reader := bufio.NewReader(file)
			if line, err := reader.ReadString('\n'); line != "started\n" {
				t.Fatalf("%q, %v", line, err)
			}
			if test.cancel {
				cancel()
			}
			if rest, err := io.ReadAll(reader); err != nil || len(rest) != 0 {
				t.Errorf("%q, %v", rest, err)
			}
			err = <-ran
			if test.cancel != errors.Is(err, context.Canceled) || !test.cancel && err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
}

// A node whose driver hangs must not collect a process with every scan.
func TestCommandsWaitForWhatWasKilled(t *testing.T) {
	commands, folder := tool(t, `echo ran`)
	live, ok := commands.(*liveCommands)
	if !ok {
		t.Fatalf("%T", commands)
	}
	live.stuck.Store(filepath.Join(folder, "tool"), true)
	if _, err := commands.Run(t.Context(), "tool"); !errors.Is(err, errStuck) {
		t.Errorf("while the last run hangs: %v", err)
	}
	live.stuck.Delete(filepath.Join(folder, "tool"))
	if result, err := commands.Run(t.Context(), "tool"); string(result.Stdout) != "ran\n" || err != nil {
		t.Errorf("when it has ended: %q, %v", result.Stdout, err)
	}
}

// Only programs of our own are looked for beside the running one.
func TestCommandsFindOwnPrograms(t *testing.T) {
	own := t.TempDir()
	commands := newCommands("/", []string{"/usr/bin", "/bin"}, nil)
	commands.own = own
	for _, name := range []string{"rankwright-helper", "stranger"} {
		if err := os.WriteFile(filepath.Join(own, name), []byte("#!/bin/sh\necho own"), 0o755); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	if result, err := commands.Run(t.Context(), "rankwright-helper"); err != nil || string(result.Stdout) != "own\n" {
		t.Errorf("our own: %q, %v", result.Stdout, err)
	}
	if _, err := commands.Run(t.Context(), "stranger"); !errors.Is(err, ErrNoCommand) {
		t.Errorf("another beside it: %v", err)
	}
	if live, ok := LiveCommands().(*liveCommands); !ok || live.own == "" {
		t.Errorf("the running program's folder: %+v", live)
	}
}
