package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rankwright/rankwright/tools/install"
)

// building is what goes on.
type building struct {
	began       time.Time
	done, total atomic.Int64
}

func (b *building) course() install.Course {
	return install.Course{Done: int(b.done.Load()), Total: int(b.total.Load()), Elapsed: time.Since(b.began)}
}

// build builds all groups at the same time, and says how far it is. The first that fails ends the others.
func (i *installer) build(ctx context.Context, groups []install.Group) error {
	for _, group := range groups {
		fmt.Printf("==> building %s\n", group)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	progress := &building{began: time.Now()}
	told := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(told)
		show(os.Stdout, progress, ended)
	}()
	failures := make([]error, len(groups))
	var running sync.WaitGroup
	for number, group := range groups {
		running.Go(func() {
			if failures[number] = i.buildGroup(ctx, group, progress); failures[number] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	close(ended)
	<-told
	// What was ended because another failed says nothing.
	for _, failure := range failures {
		if failure != nil && !errors.Is(failure, context.Canceled) {
			return failure
		}
	}
	return errors.Join(failures...)
}

func (i *installer) buildGroup(ctx context.Context, group install.Group, progress *building) (err error) {
	into, err := os.MkdirTemp(filepath.Join(i.cache, "tools"), ".building-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(into)) }()
	if into, err = filepath.Abs(into); err != nil {
		return err
	}
	stale, err := i.goCommand(ctx, group, "list", "-deps", "-f", "{{if .Stale}}x{{end}}").Output()
	if err != nil {
		return because(ctx, err, "list "+group.String(), "")
	}
	progress.total.Add(int64(len(strings.Fields(string(stale)))))
	output := into + string(filepath.Separator)
	if len(group) == 1 {
		output = filepath.Join(into, group[0].Name)
	}
	build := i.goCommand(ctx, group, "build", "-v", "-o", output)
	said, err := build.StderrPipe()
	if err != nil {
		return err
	}
	if err := build.Start(); err != nil {
		return err
	}
	rest := count(said, progress)
	if err := build.Wait(); err != nil {
		return because(ctx, err, "build "+group.String(), rest)
	}
	for _, tool := range group {
		if err := os.Rename(filepath.Join(into, tool.Name), i.built(&tool)); err != nil {
			return err
		}
	}
	return nil
}

func because(ctx context.Context, err error, what, said string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	if said == "" && errors.As(err, &exit) {
		said = string(exit.Stderr)
	}
	return fmt.Errorf("%s: %w\n%s", what, err, said)
}

// count counts the packages that `go build -v` names, and returns its other lines.
func count(said io.Reader, progress *building) string {
	var rest bytes.Buffer
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if line := lines.Text(); strings.ContainsAny(line, " \t") {
			fmt.Fprintln(&rest, line)
		} else {
			progress.done.Add(1)
		}
	}
	return rest.String()
}

// goCommand is a go command on the programs of a group, without what no test needs: file systems' snapshotters of containerd, and the clouds that Prometheus
// finds targets in. The version skew checks and `kubectl version` need the version that an official build carries.
func (i *installer) goCommand(ctx context.Context, group install.Group, verb string, args ...string) *exec.Cmd {
	version := group[0].Version
	_, after, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(after, ".")
	const stamp = "-X k8s.io/component-base/version"
	flags := fmt.Sprintf("-s -w %s.gitVersion=%s %s.gitMajor=1 %s.gitMinor=%s %s.gitCommit=unknown", stamp, version, stamp, stamp, minor, stamp)
	all := append([]string{verb, "-tags", "no_btrfs,no_zfs,no_devmapper,remove_all_sd", "-trimpath", "-ldflags", flags}, args...)
	for _, tool := range group {
		all = append(all, tool.Package)
	}
	command := exec.CommandContext(ctx, "go", all...)
	command.Dir = filepath.Join(i.root, "tools", group[0].Folder)
	command.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")
	return command
}

// show prints how far builds are until they ended: on a terminal in one line, else every ten seconds.
func show(out *os.File, progress *building, ended <-chan struct{}) {
	every, begin, end := 10*time.Second, "    ", "\n"
	if info, err := out.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		every, begin, end = 500*time.Millisecond, "\r\033[K    ", ""
	}
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		select {
		case <-ended:
			_, _ = fmt.Fprintf(out, "%sbuilt in %.0f s\n", begin, time.Since(progress.began).Seconds())
			return
		case <-ticks.C:
			_, _ = fmt.Fprint(out, begin, progress.course(), end)
		}
	}
}
