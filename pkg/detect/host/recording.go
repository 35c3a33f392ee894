package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Recording is what was read of a host: a file tree with links as they stood, and what tools printed. It is built by
// Record, by ReadRecording or by hand, and replayed by its Host. Building and replaying must not overlap.
type Recording struct {
	// Readme says for people what the recording is and where it comes from.
	Readme string

	entries map[string]*entry
	// commands is by commandKey; nil where the host ran none.
	commands map[string]recordedCommand
	// views are the same host seen from elsewhere, and notes texts about it, by name.
	views map[string]*Recording
	notes map[string]string
}

// entry is a name in the tree. What a folder was seen to hold has an entry each, read or not.
type entry struct {
	mode fs.FileMode
	// data is the content of a file, or the target of a link.
	data []byte
	// err is why the content could not be read; errNotRecorded where nobody tried.
	err   error
	owner *Owner   // nil where nobody asked
	names []string // of a folder
}

// errNotRecorded is what replay says of a file that was seen and not read. It is no fs.ErrNotExist: the file is there.
var errNotRecorded = errors.New("content was not recorded")

// NewRecording returns a recording of a host with an empty file tree, which runs no tools.
func NewRecording() *Recording {
	return &Recording{
		entries: map[string]*entry{"/": {mode: fs.ModeDir | 0o755}},
		views:   map[string]*Recording{}, notes: map[string]string{},
	}
}

// AddFile adds a file and the folders above it.
func (r *Recording) AddFile(name, content string) error {
	return r.add(name, &entry{mode: 0o444, data: []byte(content)})
}

// AddFolder adds a folder and those above it.
func (r *Recording) AddFolder(name string) error {
	return r.add(name, &entry{mode: fs.ModeDir | 0o755})
}

// AddLink adds a symbolic link and the folders above it.
func (r *Recording) AddLink(name, target string) error {
	return r.add(name, &entry{mode: fs.ModeSymlink | 0o777, data: []byte(target)})
}

// AddDevice adds a character device node, as under /dev, and the folders above it.
func (r *Recording) AddDevice(name string) error {
	return r.add(name, &entry{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666, err: errNotRegular})
}

// AddCommand adds what a tool printed; the tool is named without a folder.
func (r *Recording) AddCommand(result CommandResult, argv ...string) error {
	return r.addCommand(recorded(result, argv))
}

func recorded(result CommandResult, argv []string) recordedCommand {
	return recordedCommand{Argv: argv, ExitCode: result.ExitCode, Stdout: string(result.Stdout), Stderr: string(result.Stderr)}
}

// AllowCommands makes the host one that runs tools, though it may have none.
func (r *Recording) AllowCommands() {
	if r.commands == nil {
		r.commands = map[string]recordedCommand{}
	}
}

// Host replays the recording: it reads and prints what was read and printed then.
func (r *Recording) Host() *Host {
	h := &Host{Files: treeFiles{replayedTree(r.entries)}}
	if r.commands != nil {
		h.Commands = replayedCommands(r.commands)
	}
	return h
}

// add puts an entry at a clean absolute name. A folder may be added again, and a name that was only seen may be filled
// in; anything else that is there already is an error.
func (r *Recording) add(name string, e *entry) error {
	if !path.IsAbs(name) || path.Clean(name) != name || strings.Contains(name, "\x00") {
		return fmt.Errorf("%q: name must be absolute and clean", name)
	}
	if old, ok := r.entries[name]; ok {
		return old.fill(name, e)
	}
	if len(name) > maxNameLength || len(r.entries) > maxRecordingEntries {
		return fmt.Errorf("%w: names of at most %d bytes, at most %d entries", ErrTooLarge, maxNameLength, maxRecordingEntries)
	}
	parent := path.Dir(name)
	if err := r.add(parent, &entry{mode: fs.ModeDir | 0o755}); err != nil {
		return err
	}
	r.entries[name] = e
	above := r.entries[parent]
	above.names = append(above.names, path.Base(name))
	return nil
}

func (old *entry) fill(name string, e *entry) error {
	switch {
	case old.mode.Type() != e.mode.Type():
		return fmt.Errorf("%s: is there already as another kind of file", name)
	case old.mode.IsDir():
		if e.err != nil {
			old.err = e.err
		}
	case errors.Is(old.err, errNotRecorded):
		known := old.owner
		*old = *e
		old.owner = cmp.Or(e.owner, known)
	default:
		return fmt.Errorf("%s: is there already", name)
	}
	return nil
}

// replayedTree is the tree of a recording, by names without links in them.
type replayedTree map[string]*entry

func (t replayedTree) read(name string) ([]byte, error) {
	e, err := t.find(name)
	if err != nil {
		return nil, err
	}
	if !e.mode.IsRegular() {
		return nil, errNotRegular
	}
	return slices.Clone(e.data), e.err
}

func (t replayedTree) names(folder string) ([]string, error) {
	e, err := t.find(folder)
	if err != nil {
		return nil, err
	}
	if !e.mode.IsDir() {
		return nil, fs.ErrNotExist
	}
	if e.err != nil {
		return nil, e.err
	}
	return slices.Sorted(slices.Values(e.names)), nil
}

func (t replayedTree) stat(name string) (fs.FileMode, error) {
	e, err := t.find(name)
	if err != nil {
		return 0, err
	}
	return e.mode, nil
}

func (t replayedTree) owner(name string) (Owner, error) {
	e, err := t.find(name)
	if err != nil {
		return Owner{}, err
	}
	if e.owner == nil {
		return Owner{}, errors.ErrUnsupported
	}
	return *e.owner, nil
}

func (t replayedTree) find(name string) (*entry, error) {
	place, err := resolve(name, t.readPlace)
	return t[place], err
}

func (t replayedTree) readLink(name string) (string, bool, error) {
	return readBelow(name, t.readPlace)
}

func (t replayedTree) readPlace(place string) (string, bool, error) {
	e, ok := t[place]
	if !ok {
		return "", false, fs.ErrNotExist
	}
	if e.mode.Type() != fs.ModeSymlink {
		return "", false, nil
	}
	return string(e.data), true, nil
}

// recordedCommand is a line of commands.jsonl.
type recordedCommand struct {
	// Argv is the command, the tool by its base name.
	Argv     []string `json:"argv"`
	ExitCode int      `json:"exitCode"`
	Stdout   string   `json:"stdout"`
	Stderr   string   `json:"stderr"`
	// Error is why there is no output: the deadline, the limit on output, or what the system said.
	Error string `json:"error,omitempty"`
}

// replayedCommands is by commandKey.
type replayedCommands map[string]recordedCommand

// Run implements Commands.
func (c replayedCommands) Run(ctx context.Context, argv ...string) (CommandResult, error) {
	if err := ctx.Err(); err != nil {
		return CommandResult{}, CommandError(argv, err)
	}
	recorded, ok := c[commandKey(argv)]
	if !ok {
		return CommandResult{}, CommandError(argv[:min(1, len(argv))], ErrNoCommand)
	}
	if recorded.Error != "" {
		return CommandResult{}, CommandError(argv, OfKind(v1alpha1.ErrorToolFailed, recalledError(recorded.Error)))
	}
	return CommandResult{
		ExitCode: recorded.ExitCode, Stdout: []byte(recorded.Stdout), Stderr: []byte(recorded.Stderr),
	}, nil
}

func (r *Recording) addCommand(c recordedCommand) error {
	if len(c.Argv) == 0 || c.Argv[0] == "" || strings.Contains(c.Argv[0], "/") {
		return fmt.Errorf("command %q: argv must begin with the tool's base name", c.Argv)
	}
	if max(len(c.Stdout), len(c.Stderr)) > MaxOutputSize {
		return CommandError(c.Argv, ErrTooLarge)
	}
	r.AllowCommands()
	key := commandKey(c.Argv)
	if _, ok := r.commands[key]; ok {
		return fmt.Errorf("command %q: is there already", c.Argv)
	}
	r.commands[key] = c
	return nil
}

// commandKey joins what no argument can contain.
func commandKey(argv []string) string { return strings.Join(argv, "\x00") }

// recalledErrors are the errors that callers tell apart; any other is only a text.
var recalledErrors = []error{fs.ErrPermission, ErrTooLarge, errNotRecorded, errNotRegular, context.DeadlineExceeded, context.Canceled}

func recalledError(text string) error {
	for _, err := range recalledErrors {
		if err.Error() == text {
			return err
		}
	}
	return errors.New(text)
}
