//go:build unix

package dra

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/rankwright/rankwright/pkg/nodeagent/disk"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// Environment of a child process that prepares claims and kills itself at an operation on the disk.
const (
	crashFolder    = "CLAIMS_CRASH_FOLDER"
	crashOperation = "CLAIMS_CRASH_OPERATION"
	crashMoment    = "CLAIMS_CRASH_MOMENT"
)

// The moments: before the operation, in the middle of it where it has one, and after it.
const (
	before = "before"
	amid   = "amid"
	after  = "after"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(crashFolder); folder != "" {
		if err := crash(folder); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// deadlyDisk kills the process without warning at its n-th operation.
type deadlyDisk struct {
	disk.Node

	left   int
	moment string
}

func (d *deadlyDisk) do(operation, half func() error) error {
	d.left--
	if d.left == 0 && d.moment == before {
		die()
	}
	if d.left == 0 && d.moment == amid {
		_ = half()
		die()
	}
	err := operation()
	if d.left == 0 {
		die()
	}
	return err
}

func die() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }

func nothing() error { return nil }

func (d *deadlyDisk) Write(path string, content []byte, mode fs.FileMode) error {
	return d.do(func() error { return d.Node.Write(path, content, mode) },
		func() error { return os.WriteFile(path, content[:len(content)/2], mode) })
}

func (d *deadlyDisk) Rename(from, to string) error {
	return d.do(func() error { return d.Node.Rename(from, to) }, nothing)
}

func (d *deadlyDisk) Sync(folder string) error {
	return d.do(func() error { return d.Node.Sync(folder) }, nothing)
}

// handlerIn is an agent's that works in a folder.
func handlerIn(folder string, d disk.Disk) (*handler, error) {
	c, err := openCheckpoint(folder, d, slog.New(slog.DiscardHandler))
	w := wantedOf(statusOf(gpu(1), gpu(2), gpu(3)))
	return &handler{
		options: &Options{Node: testNode, Inject: inject, CDIFolder: injection.Folder(filepath.Join(folder, "cdi"))},
		wanted:  settled(w), checkpoint: c,
	}, err
}

// step is a call of the kubelet.
type step struct {
	prepares bool
	claim    *resourceapi.Claim
}

// steps are a node's life in short: two claims come, one goes, a third takes its device.
var steps = []step{
	{true, called("first", claimOf(resultFor("a", 1)))},
	{true, called("second", claimOf(resultFor("a", 2), resultFor("b", 3)))},
	{false, called("first", claimOf(resultFor("a", 1)))},
	{true, called("third", claimOf(resultFor("a", 1)))},
}

func (s step) do(ctx context.Context, h *handler) error {
	if s.prepares {
		_, err := h.prepare(ctx, s.claim)
		return err
	}
	return h.unprepare(&dra.Claim{Namespace: s.claim.Namespace, Name: s.claim.Name, Uid: string(s.claim.UID)})
}

// crash runs in the child: it takes the steps, and says after each that it is done.
func crash(folder string) error {
	n, err := strconv.Atoi(os.Getenv(crashOperation))
	if err != nil {
		return err
	}
	h, err := handlerIn(folder, &deadlyDisk{left: n, moment: os.Getenv(crashMoment)})
	if err != nil {
		return err
	}
	for i, s := range steps {
		if err := s.do(context.Background(), h); err != nil {
			return err
		}
		fmt.Println(i)
	}
	return nil
}

// answered are the steps that the child said to be done; finished says that it was not killed.
func answered(t *testing.T, folder, moment string, operation int) (done int, finished bool) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), crashFolder+"="+folder, crashMoment+"="+moment, crashOperation+"="+strconv.Itoa(operation))
	child.Stderr = os.Stderr
	output, err := child.Output()
	if status, isUnix := child.ProcessState.Sys().(syscall.WaitStatus); err != nil && (!isUnix || status.Signal() != syscall.SIGKILL) {
		t.Fatalf("the child failed: %v", err)
	}
	return strings.Count(string(output), "\n"), err == nil
}

// contentOf are the files of a folder and what they say.
func contentOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"*", "cdi/*"} {
		names, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if content, err := os.ReadFile(name); err == nil {
				files[strings.TrimPrefix(name, folder)] = string(content)
			}
		}
	}
	return files
}

// Whenever an agent is killed, the next one knows every claim that the kubelet was told to be prepared, none that it was told
// to be done with, and no variables of a claim are there that it does not know. The kubelet asks again for what it had no
// answer to, and then all is as if nobody had been killed.
func TestPreparedClaimsSurviveADeathAtAnyMoment(t *testing.T) {
	undisturbed := t.TempDir()
	if done, finished := answered(t, undisturbed, after, 0); done != len(steps) || !finished {
		t.Fatalf("%d steps are done without a death", done)
	}
	want := contentOf(t, undisturbed)
	for _, moment := range []string{before, amid, after} {
		deaths := 0
		for operation := 1; ; operation++ {
			folder := t.TempDir()
			done, finished := answered(t, folder, moment, operation)
			if finished {
				break
			}
			deaths++
			where := fmt.Sprintf("%s operation %d, after %d answers", moment, operation, done)
			h, err := handlerIn(folder, disk.Node{})
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			checkKnown(t, where, h, done)
			for _, s := range steps[done:] {
				if err := s.do(t.Context(), h); err != nil {
					t.Errorf("%s: the kubelet asks again: %v", where, err)
				}
			}
			if diff := cmp.Diff(want, contentOf(t, folder)); diff != "" {
				t.Errorf("%s: in the end (-want +got):\n%s", where, diff)
			}
		}
		if deaths < 3*len(steps) {
			t.Errorf("%s: it was killed at %d moments, want %d at least", moment, deaths, 3*len(steps))
		}
	}
}

// checkKnown compares the book with what the kubelet was told; the step that had no answer may be in it or not.
func checkKnown(t *testing.T, where string, h *handler, done int) {
	t.Helper()
	told := map[string]bool{}
	for _, s := range steps[:done] {
		told[string(s.claim.UID)] = s.prepares
	}
	unanswered := ""
	if done < len(steps) {
		unanswered = string(steps[done].claim.UID)
	}
	for _, s := range steps {
		uid := string(s.claim.UID)
		_, known := h.checkpoint.book[uid]
		if known != told[uid] && uid != unanswered {
			t.Errorf("%s: claim %s is known: %t, and the kubelet was told %t", where, s.claim.Name, known, told[uid])
		}
		if _, err := os.Stat(filepath.Join(string(h.options.CDIFolder), "rankwright.dev-claim_"+uid+".json")); err == nil && !known {
			t.Errorf("%s: variables of claim %s are there, and nobody knows of it", where, s.claim.Name)
		}
	}
}
