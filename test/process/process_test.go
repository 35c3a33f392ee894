package process_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rankwright/rankwright/test/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startShell(t *testing.T, script string) *process.Process {
	t.Helper()
	p, err := process.Start(process.Spec{
		Name: "shell", Path: "/bin/sh", Args: []string{"-c", script}, LogFile: filepath.Join(t.TempDir(), "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	return p
}

// readFIFO blocks until somebody writes, which makes a named pipe the way to await what a shell does.
func readFIFO(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStopEndsTheWholeGroup(t *testing.T) {
	path := fifo(t)
	p := startShell(t, "exec >"+path+"; sleep 1000 & echo up; wait")
	output, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = output.Close() }()
	if _, err := io.ReadFull(output, make([]byte, len("up\n"))); err != nil {
		t.Fatal(err)
	}
	p.Stop(time.Minute)
	// The pipe ends when the last process that holds it has, so this would block for as long as the sleep lives.
	rest, err := io.ReadAll(output)
	if err != nil || len(rest) > 0 {
		t.Errorf("after Stop the pipe gave %q, %v; want its end", rest, err)
	}
}

func TestStopKillsWhoIgnoresTheRequest(t *testing.T) {
	ready := fifo(t)
	p := startShell(t, "trap '' TERM; echo up >"+ready+"; while :; do sleep 1000; done")
	readFIFO(t, ready)
	p.Stop(0)
	p.Stop(0)
	if err := p.Exit(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("Exit() = %v, want it to say that the shell was killed", err)
	}
}

func TestExitTellsTheEndOfTheLog(t *testing.T) {
	p := startShell(t, "echo first; echo cannot bind >&2; exit 3")
	<-p.Done()
	err := p.Exit()
	for _, want := range []string{"shell ended", "exit status 3", "first\ncannot bind"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Exit() = %v, want it to contain %q", err, want)
		}
	}
}

func TestStartNamesTheBinaryThatIsMissing(t *testing.T) {
	_, err := process.Start(process.Spec{Name: "etcd", Path: "/nonexistent/etcd", LogFile: filepath.Join(t.TempDir(), "log")})
	if err == nil || !strings.Contains(err.Error(), "etcd: ") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start = %v, want an error that names etcd and says that it does not exist", err)
	}
}
