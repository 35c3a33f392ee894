package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rankwright/rankwright/internal/repository"
)

// mark is in the environment of everything that a demo under test starts.
const mark = "RANKWRIGHT_DEMO_UNDER_TEST"

func TestInterruptLeavesNothing(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "demo")
	if err := repository.Build(t.Context(), binary, "test/demo"); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, line string
		env        []string
		// look looks at what the demo left running, where it prints the line.
		look func(t *testing.T, printed []string)
		exit int
	}{
		{name: "while the control plane starts", line: "starting etcd", exit: 130},
		{name: "while agents look", line: "waiting for the inventories", exit: 130},
		{name: "left running", line: "It is served until Ctrl-C", env: []string{"KEEP=1"}, look: everyQuestion, exit: 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tag := mark + "=" + t.TempDir()
			command := exec.CommandContext(t.Context(), binary)
			command.Dir = root
			// The demo's own folder lies in the test's, so that the test sees whether it goes.
			temporary := t.TempDir()
			command.Env = append(append(os.Environ(), tag, "KEEP=", "TMPDIR="+temporary), test.env...)
			exit := interruptAt(t, command, test.line, func(printed []string) {
				if test.look != nil {
					test.look(t, printed)
				}
				if len(withEnvironment(t, tag)) == 0 {
					t.Error("the running demo is not found, so nothing could be found left behind")
				}
			})
			if exit != test.exit {
				t.Errorf("exit status %d, want %d", exit, test.exit)
			}
			if left := withEnvironment(t, tag); len(left) > 0 {
				t.Errorf("processes left behind:\n%s", strings.Join(left, "\n"))
			}
			if left, err := filepath.Glob(filepath.Join(temporary, "*")); err != nil || len(left) > 0 {
				t.Errorf("folders left behind: %v, %v", left, err)
			}
		})
	}
}

// everyQuestion is asked of a demo that was left running.
func everyQuestion(t *testing.T, printed []string) {
	answers(t, printed)
	metrics(t, printed)
	t.Run("by a Prometheus", func(t *testing.T) { served(t, printed) })
}

// interruptAt runs a command, calls the function with all that it printed once it has printed the line, interrupts it, and returns its
// exit status.
func interruptAt(t *testing.T, command *exec.Cmd, line string, before func(printed []string)) int {
	t.Helper()
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errorOutput bytes.Buffer
	command.Stderr = &errorOutput
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	interrupted := false
	var printed []string
	for lines := bufio.NewScanner(output); lines.Scan(); {
		printed = append(printed, lines.Text())
		if !interrupted && strings.Contains(lines.Text(), line) {
			interrupted = true
			before(printed)
			if err := command.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = command.Wait()
	if !interrupted {
		t.Fatalf("the demo never printed %q but:\n%s\n%s", line, strings.Join(printed, "\n"), errorOutput.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode()
}

// withEnvironment returns the command lines of the living processes that have the variable.
func withEnvironment(t *testing.T, variable string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(files) == 0 {
		t.Fatalf("processes: %v, %v", files, err)
	}
	var found []string
	for _, file := range files {
		// A process that has ended since, or is another user's, is not the demo's.
		environment, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environment, []byte(variable)) {
			continue
		}
		commandLine, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		found = append(found, string(bytes.ReplaceAll(commandLine, []byte{0}, []byte(" "))))
	}
	return found
}
