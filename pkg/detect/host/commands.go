package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// WSLFolder holds the drivers' libraries and tools that Windows mounts into the Windows Subsystem for Linux.
const WSLFolder = "/usr/lib/wsl/lib"

// toolFolders are where tools are looked for, never the caller's PATH: what runs here runs as root. The vendors' own come
// last; a container runtime mounts NVIDIA's tools into /usr/bin, GKE into /usr/local/nvidia of a container and keeps them
// in /home/kubernetes of the host.
var toolFolders = []string{
	"/usr/bin", "/usr/local/bin", "/bin", "/usr/sbin", "/usr/local/sbin", "/sbin",
	"/usr/local/nvidia/bin", "/opt/nvidia/bin", "/run/nvidia/driver/usr/bin", "/home/kubernetes/bin/nvidia/bin", "/opt/rocm/bin",
	"/opt/aws/neuron/bin", "/opt/qti-aic/tools", WSLFolder,
}

// libraryFolders have driver libraries that no linker cache knows where the driver was mounted rather than installed.
var libraryFolders = []string{
	"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/opt/nvidia/lib64", "/home/kubernetes/bin/nvidia/lib64", WSLFolder,
}

// pipeGrace is what a tool's output may take to end after the tool itself did: a grandchild can hold the pipe open.
const pipeGrace = time.Second

// KillGrace is what a tool may take to end when its time is up: it is killed, and its output drained.
const KillGrace = 2 * pipeGrace

// ownPrefix begins the names of our own programs, which are looked for beside the running one first.
const ownPrefix = "rankwright-"

// LiveCommands runs tools of this machine, found in the fixed folders of the system and of vendors' drivers; programs of
// our own are also found in the folder of the running one.
func LiveCommands() Tools { return CommandsIn("/") }

// CommandsIn runs the tools of the host whose file tree is mounted at root, with that folder as their root: their libraries
// and configuration are the host's, too. It needs the right to change roots (CAP_SYS_CHROOT). Programs of our own are found
// beside the running one alone and keep this process' root.
func CommandsIn(root string) Tools {
	commands := newCommands(root, systemFolders(), libraryFolders)
	if self, err := os.Executable(); err == nil {
		commands.own = filepath.Dir(self)
	}
	return commands
}

// FolderCommands runs tools of this machine that are found in the given folders, with driver libraries from others, and programs of
// our own from the folder own; empty where there are none.
func FolderCommands(own string, tools, libraries []string) Tools {
	commands := newCommands("/", tools, libraries)
	commands.own = own
	return commands
}

func newCommands(root string, tools, libraries []string) *liveCommands {
	files := openTree(root)
	environ := append([]string{"PATH=" + strings.Join(tools, string(filepath.ListSeparator)), "LC_ALL=C"}, systemEnvironment...)
	var present []string
	for _, folder := range libraries {
		if mode, err := files.stat(folder); err == nil && mode.IsDir() {
			present = append(present, folder)
		}
	}
	if len(present) > 0 {
		environ = append(environ, "LD_LIBRARY_PATH="+strings.Join(present, ":"))
	}
	return &liveCommands{files: files, root: root, folders: tools, environ: environ}
}

type liveCommands struct {
	// files is the tree below root, in which the tools are looked for.
	files   liveTree
	root    string
	folders []string
	// own is the folder of our programs; empty where it is not known.
	own     string
	environ []string

	// stuck holds the paths of tools that outlived being killed: a process in an uninterruptible wait of a broken driver.
	stuck sync.Map
}

// errStuck keeps a node whose driver hangs from collecting a process with every scan.
var errStuck = errors.New("an earlier run was killed and has not ended yet: the driver hangs, see dmesg")

// program is a tool that was found: its path in the file tree that it runs in, and the folder where that tree is mounted.
type program struct{ path, root string }

// Run implements Commands.
func (c *liveCommands) Run(ctx context.Context, argv ...string) (CommandResult, error) {
	tool, err := c.find(argv)
	if err != nil {
		return CommandResult{}, err
	}
	result, err := c.run(ctx, tool, argv[1:])
	if err != nil {
		return CommandResult{}, CommandError(argv, OfKind(v1alpha1.ErrorToolFailed, err))
	}
	return result, nil
}

func (c *liveCommands) find(argv []string) (program, error) {
	if len(argv) == 0 || argv[0] == "" || strings.Contains(argv[0], "/") {
		return program{}, fmt.Errorf("command %q: the tool must be named without a folder", argv)
	}
	if c.own != "" && strings.HasPrefix(argv[0], ownPrefix) {
		tool := filepath.Join(c.own, argv[0]+toolSuffix)
		if info, err := os.Stat(tool); err == nil && isExecutable(info.Mode()) {
			return program{path: tool, root: "/"}, nil
		}
		if c.root != "/" {
			return program{}, CommandError(argv[:1], ErrNoCommand)
		}
	}
	for _, folder := range c.folders {
		tool := filepath.Join(folder, argv[0]+toolSuffix)
		if mode, err := c.files.stat(tool); err == nil && isExecutable(mode) {
			return program{path: tool, root: c.root}, nil
		}
	}
	return program{}, CommandError(argv[:1], ErrNoCommand)
}

// command is a tool that is ready to start, in a process group of its own, and is killed with it when the context ends.
func (c *liveCommands) command(ctx context.Context, tool program, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, tool.path, args...)
	cmd.Env, cmd.Dir = c.environ, "/"
	cmd.WaitDelay = pipeGrace
	confine(cmd, tool.root)
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	return cmd
}

func (c *liveCommands) run(ctx context.Context, tool program, args []string) (CommandResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tooLarge := func() { cancel(ErrTooLarge) }
	stdout := cappedBuffer{limit: MaxOutputSize, full: tooLarge}
	stderr := cappedBuffer{limit: MaxOutputSize, full: tooLarge}

	cmd := c.command(ctx, tool, args)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if _, stuck := c.stuck.Load(tool.path); stuck {
		return CommandResult{}, errStuck
	}
	if err := cmd.Start(); err != nil {
		return CommandResult{}, err
	}
	ended, err := c.wait(ctx, cmd)
	if !ended {
		return CommandResult{}, context.Cause(ctx)
	}
	// What the tool left behind in its group goes with it, however it ended. No group is no error: the pid of a group
	// leader is not given away while the group has members.
	_ = killGroup(cmd.Process.Pid)

	if cause := context.Cause(ctx); cause != nil {
		return CommandResult{}, cause
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited && !errors.Is(err, exec.ErrWaitDelay) {
		return CommandResult{}, err
	}
	return CommandResult{ExitCode: cmd.ProcessState.ExitCode(), Stdout: stdout.text(), Stderr: stderr.text()}, nil
}

// wait waits for the command to end, but not longer than killing it and draining its output takes.
func (c *liveCommands) wait(ctx context.Context, cmd *exec.Cmd) (ended bool, err error) {
	var result error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result = cmd.Wait()
	}()
	select {
	case <-done:
		return true, result
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true, result
	case <-time.After(KillGrace):
	}
	c.stuck.Store(cmd.Path, true)
	go func() {
		<-done
		c.stuck.Delete(cmd.Path)
	}()
	return false, nil
}

// CommandError names the command, with the tool by its base name as recordings do.
func CommandError(argv []string, err error) error {
	return &commandFailure{argv: argv, cause: err}
}

// commandFailure is what went wrong with a command.
type commandFailure struct {
	argv  []string
	cause error
}

// Error implements error.
func (e *commandFailure) Error() string { return strings.Join(e.argv, " ") + ": " + e.cause.Error() }

// Unwrap gives the cause.
func (e *commandFailure) Unwrap() error { return e.cause }

// cappedBuffer keeps what is written up to a limit. What is too much is dropped or, where there is full, refused after calling it.
type cappedBuffer struct {
	data  bytes.Buffer
	limit int
	full  func()
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	kept, _ := b.data.Write(p[:min(len(p), b.limit-b.data.Len())])
	if kept < len(p) && b.full != nil {
		b.full()
		return kept, ErrTooLarge
	}
	return len(p), nil
}

// text is what was written, made valid UTF-8: a recording holds text, and a replay must give the same bytes.
func (b *cappedBuffer) text() []byte { return bytes.ToValidUTF8(b.data.Bytes(), []byte("\uFFFD")) }
