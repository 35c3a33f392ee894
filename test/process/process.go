// Package process runs child processes that never outlive what started them: each has a process group of its own, is
// killed with all it started, and on Linux dies even when its parent is killed without warning.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Spec says what to run.
type Spec struct {
	// Name is for messages (`kube-apiserver`).
	Name string
	// Path is the binary.
	Path string
	// Args are the arguments, without the binary.
	Args []string
	// Env is the whole environment; nil means the environment of this process.
	Env []string
	// Dir is the working directory; empty means the working directory of this process.
	Dir string
	// LogFile receives standard output and error; the file is made anew. Empty passes them on to this process's own.
	LogFile string
	// Continue writes behind what the LogFile has, for a child that is started again.
	Continue bool
}

// Process is a running child.
type Process struct {
	spec Spec
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start starts a child. It has its own process group, so Ctrl-C in a terminal does not reach it: whoever starts a child
// stops it.
func Start(spec Spec) (*Process, error) {
	log, err := openLog(spec)
	if err != nil {
		return nil, fmt.Errorf("%s: log: %w", spec.Name, err)
	}
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env, cmd.Dir = spec.Env, spec.Dir
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if log != nil {
		cmd.Stdout, cmd.Stderr = log, log
	}
	cmd.SysProcAttr = attributes()
	p := &Process{spec: spec, cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.run(log, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Name, err)
	}
	return p, nil
}

// Run runs a child to its end, which must be with status 0; when the context ends before it, the child is stopped, and killed
// after the grace period.
func Run(ctx context.Context, spec Spec, grace time.Duration) error {
	p, err := Start(spec)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Stop(grace)
		return ctx.Err()
	}
	if !p.Succeeded() {
		return p.Exit()
	}
	return nil
}

// openLog returns nil for no path.
func openLog(spec Spec) (*os.File, error) {
	if spec.LogFile == "" {
		return nil, nil
	}
	if err := os.MkdirAll(filepath.Dir(spec.LogFile), 0o755); err != nil {
		return nil, err
	}
	how := os.O_RDWR | os.O_CREATE | os.O_TRUNC
	if spec.Continue {
		how = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	return os.OpenFile(spec.LogFile, how, 0o666)
}

// run starts the child and waits for it on one thread, because the kernel delivers the parent death signal when the
// thread that forked ends, not when the process does.
func (p *Process) run(log *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() { _ = log.Close() }()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.cmd.Wait()
	p.signal(syscall.SIGKILL)
	close(p.done)
}

// signal sends to the whole group. A group that is gone already is what the caller wants, so the error says nothing.
func (p *Process) signal(s syscall.Signal) {
	_ = syscall.Kill(-p.cmd.Process.Pid, s)
}

// Name returns the name from the Spec.
func (p *Process) Name() string { return p.spec.Name }

// PID returns the process id, which is the id of its group as well.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// LogFile returns the path of the child's log.
func (p *Process) LogFile() string { return p.spec.LogFile }

// Again starts a child that has ended once more, with the same Spec; its log goes on.
func (p *Process) Again() (*Process, error) {
	spec := p.spec
	spec.Continue = true
	return Start(spec)
}

// Signal sends a signal to the child and all it started. A child that has ended gets none.
func (p *Process) Signal(s syscall.Signal) { p.signalRunning(s) }

// Done returns a channel that is closed when the child has ended and all it started has been killed.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns an error that says how the child ended, with the end of its log; nil while it runs. An end with status 0
// is reported too, as servers are not expected to end.
func (p *Process) Exit() error {
	if !p.ended() {
		return nil
	}
	end := p.err
	if end == nil {
		end = errors.New("exit status 0")
	}
	if p.spec.LogFile == "" {
		return fmt.Errorf("%s ended: %w", p.spec.Name, end)
	}
	return fmt.Errorf("%s ended: %w; the end of %s:\n%s", p.spec.Name, end, p.spec.LogFile, p.LogTail(20))
}

// Succeeded says whether the child has ended with status 0.
func (p *Process) Succeeded() bool { return p.ended() && p.err == nil }

func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Stop asks the child to end (SIGTERM), kills it after the grace period, and returns when it is gone. It may be called
// more than once.
func (p *Process) Stop(grace time.Duration) {
	p.signalRunning(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.signalRunning(syscall.SIGKILL)
		<-p.done
	}
}

// signalRunning leaves a child alone that has been waited for: its process id may be another's by now.
func (p *Process) signalRunning(s syscall.Signal) {
	if !p.ended() {
		p.signal(s)
	}
}

// Await asks again and again whether a child is ready, and returns when the answer is nil. It fails when the child ends, and
// when the time is over.
func (p *Process) Await(ctx context.Context, timeout time.Duration, ready func(context.Context) error) error {
	const poll = 50 * time.Millisecond
	last := errors.New("not asked yet")
	err := wait.PollUntilContextTimeout(ctx, poll, timeout, true, func(ctx context.Context) (bool, error) {
		if exit := p.Exit(); exit != nil {
			return false, exit
		}
		last = ready(ctx)
		return last == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%s is not ready: %w (last answer: %w); the end of %s:\n%s", p.Name(), err, last, p.LogFile(), p.LogTail(20))
	}
	return err
}

// LogTail returns the last lines of the log, or why it cannot be read.
func (p *Process) LogTail(lines int) string {
	content, err := os.ReadFile(p.spec.LogFile)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimRight(content, "\n"), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
