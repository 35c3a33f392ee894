package detect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Folders that tools are looked for in, never the caller's PATH: what runs here runs as root. The vendors' own come
// last; a container runtime mounts NVIDIA's tools into /usr/bin, GKE into /usr/local/nvidia.
var toolFolders = []string{
	"/usr/bin", "/usr/local/bin", "/bin", "/usr/sbin", "/usr/local/sbin", "/sbin",
	"/usr/local/nvidia/bin", "/opt/nvidia/bin", "/run/nvidia/driver/usr/bin", "/opt/rocm/bin",
	"/opt/aws/neuron/bin", "/opt/qti-aic/tools",
}

// Folders of driver libraries that no linker cache knows where the driver was mounted rather than installed.
var libraryFolders = []string{"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/opt/nvidia/lib64"}

// pipeGrace is what a tool's output may take to end after the tool itself did: a grandchild can hold the pipe open.
const pipeGrace = time.Second

// ownPrefix is that of the programs that are installed beside this one, and looked for there first.
const ownPrefix = "rankwright-"

// LiveCommands runs tools of this machine, found in the fixed folders of the system and of vendors' drivers; programs of
// our own are also found in the folder of the running one.
func LiveCommands() Commands { return systemCommands() }

func systemCommands() *liveCommands {
	commands := newCommands(systemFolders(), libraryFolders)
	if self, err := os.Executable(); err == nil {
		commands.own = filepath.Dir(self)
	}
	return commands
}

func newCommands(tools, libraries []string) *liveCommands {
	environ := append([]string{"PATH=" + strings.Join(tools, string(filepath.ListSeparator)), "LC_ALL=C"}, systemEnvironment...)
	var present []string
	for _, folder := range libraries {
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			present = append(present, folder)
		}
	}
	if len(present) > 0 {
		environ = append(environ, "LD_LIBRARY_PATH="+strings.Join(present, ":"))
	}
	return &liveCommands{folders: tools, environ: environ, stuck: map[string]bool{}}
}

type liveCommands struct {
	folders []string
	// own is the folder of our programs; empty where it is not known.
	own     string
	environ []string

	mu sync.Mutex
	// stuck holds the tools that outlived being killed: a process in an uninterruptible wait of a broken driver.
	stuck map[string]bool
}

// errStuck keeps a node whose driver hangs from collecting a process with every scan.
var errStuck = errors.New("an earlier run was killed and has not ended yet: the driver hangs, see dmesg")

// Run implements Commands.
func (c *liveCommands) Run(ctx context.Context, argv ...string) (CommandResult, error) {
	tool, err := c.find(argv)
	if err != nil {
		return CommandResult{}, err
	}
	result, err := c.run(ctx, tool, argv[1:])
	if err != nil {
		return CommandResult{}, commandError(argv, err)
	}
	return result, nil
}

// FindTool returns the path of a tool that LiveCommands would run; an error wraps ErrNoCommand where it is not installed.
func FindTool(name string) (string, error) {
	return systemCommands().find([]string{name})
}

func (c *liveCommands) find(argv []string) (string, error) {
	if len(argv) == 0 || argv[0] == "" || strings.Contains(argv[0], "/") {
		return "", fmt.Errorf("command %q: the tool must be named without a folder", argv)
	}
	folders := c.folders
	if c.own != "" && strings.HasPrefix(argv[0], ownPrefix) {
		folders = slices.Concat([]string{c.own}, folders)
	}
	for _, folder := range folders {
		tool := filepath.Join(folder, argv[0]+toolSuffix)
		if info, err := os.Stat(tool); err == nil && isExecutable(info) {
			return tool, nil
		}
	}
	return "", commandError(argv[:1], ErrNoCommand)
}

func (c *liveCommands) run(ctx context.Context, tool string, args []string) (CommandResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tooLarge := func() { cancel(ErrTooLarge) }
	stdout, stderr := cappedBuffer{full: tooLarge}, cappedBuffer{full: tooLarge}

	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Env, cmd.Dir = c.environ, "/"
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = pipeGrace
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	if c.isStuck(tool) {
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
	done := make(chan struct{})
	var waitErr error // read only when done is closed
	go func() {
		waitErr = cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true, waitErr
	case <-ctx.Done():
	}
	patience := time.NewTimer(2 * pipeGrace)
	defer patience.Stop()
	select {
	case <-done:
		return true, waitErr
	case <-patience.C:
	}
	c.setStuck(cmd.Path, true)
	go func() {
		<-done
		c.setStuck(cmd.Path, false)
	}()
	return false, nil
}

func (c *liveCommands) isStuck(tool string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stuck[tool]
}

func (c *liveCommands) setStuck(tool string, stuck bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stuck[tool] = stuck
}

// commandError names the command, with the tool by its base name as recordings do.
func commandError(argv []string, err error) error {
	return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
}

// cappedBuffer keeps what is written up to MaxOutputSize, then calls full and refuses the rest.
type cappedBuffer struct {
	data bytes.Buffer
	full func()
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if b.data.Len()+len(p) > MaxOutputSize {
		b.full()
		return 0, ErrTooLarge
	}
	return b.data.Write(p)
}

// text is what was written, made valid UTF-8: a recording holds text, and a replay must give the same bytes.
func (b *cappedBuffer) text() []byte { return bytes.ToValidUTF8(b.data.Bytes(), []byte("\uFFFD")) }
