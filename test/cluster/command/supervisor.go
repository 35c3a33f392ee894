//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// poll is how often a log or a process is looked at, which tell nobody of a change.
const poll = 100 * time.Millisecond

// supervisor is the process that holds a cluster in the background. All else dies with it.
type supervisor struct {
	dir   string
	nodes int
}

func (s supervisor) logFile() string { return filepath.Join(s.dir, "cluster.log") }
func (s supervisor) pidFile() string { return filepath.Join(s.dir, "cluster.pid") }

// running returns the process id, or 0 where none runs.
func (s supervisor) running() int {
	text, err := os.ReadFile(s.pidFile())
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	// The process id may be another's by now: only one that runs this program in this folder is ours.
	command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if !strings.Contains(string(command), "\x00run\x00-dir\x00"+s.dir+"\x00") {
		return 0
	}
	return pid
}

// up starts the cluster unless it runs already, shows what it says, and returns when it is ready.
func (s supervisor) up(ctx context.Context) error {
	if pid := s.running(); pid != 0 {
		fmt.Printf("runs already, process %d\n", pid)
		return s.follow(ctx, pid)
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil { //nolint:gosec // keys in it are readable by root alone
		return err
	}
	log, err := os.Create(s.logFile())
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(program, "run", "-dir", s.dir, "-nodes", strconv.Itoa(s.nodes))
	child.Stdout, child.Stderr = log, log
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(s.pidFile(), []byte(strconv.Itoa(child.Process.Pid)), 0o600); err != nil {
		return err
	}
	go func() { _ = child.Wait() }()
	return s.follow(ctx, child.Process.Pid)
}

// follow copies the log until the cluster is ready or has ended.
func (s supervisor) follow(ctx context.Context, pid int) error {
	log, err := os.Open(s.logFile())
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	var said strings.Builder
	return wait.PollUntilContextCancel(ctx, poll, true, func(context.Context) (bool, error) {
		gone := !alive(pid)
		if _, err := io.Copy(io.MultiWriter(os.Stdout, &said), log); err != nil {
			return false, err
		}
		if gone {
			return false, errors.New("the cluster ended: see above")
		}
		return strings.Contains(said.String(), "\nready: "), nil
	})
}

// down stops the cluster and waits until all of it is gone. None is no error.
func (s supervisor) down(ctx context.Context) error {
	pid := s.running()
	if pid == 0 {
		fmt.Println("no cluster runs in " + s.dir)
		return s.forget()
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	fmt.Printf("stopping process %d\n", pid)
	err := wait.PollUntilContextCancel(ctx, poll, true, func(context.Context) (bool, error) { return !alive(pid), nil })
	if err != nil {
		return err
	}
	return s.forget()
}

// forget removes the data, and keeps the logs.
func (s supervisor) forget() error {
	if err := os.Remove(s.pidFile()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
