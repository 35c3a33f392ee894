// Package host reads a machine: its files and what its tools print, live, from a recording, or recorded on the way. Backends of
// pkg/detect learn of a machine by nothing else, so that a recorded one gives the same inventory as the live one gave. It also says
// which tools may be run, and makes recordings anonymous.
package host

import (
	"context"
	"errors"
	"io/fs"
	"sync"
)

// Host is the machine that a detection looks at: the only way for a backend to learn anything. The live host, a
// recording of one and a recorder around either are all Hosts.
type Host struct {
	// Files is the host's file tree.
	Files Files
	// Commands runs the host's tools; nil where nothing may be run.
	Commands Commands

	// memory holds what was read once for all; nil where nothing is kept.
	memory *sync.Map
}

// Remembering returns the same host with a memory for what Once reads. Use it for one detection: it does not show what changes on
// the host later.
func (h *Host) Remembering() *Host {
	return &Host{Files: h.Files, Commands: h.Commands, memory: new(sync.Map)}
}

// Once returns what read returns, and on a host with a memory what the first read under the key did; callers share it and must not
// change it. A key is a type of the caller's own.
func Once[T any](h *Host, key any, read func() (T, error)) (T, error) {
	if h.memory == nil {
		return read()
	}
	once, _ := h.memory.LoadOrStore(key, sync.OnceValues(read))
	remembered, ok := once.(func() (T, error))
	if !ok {
		return read() // the key stands for something else
	}
	return remembered()
}

// Files reads a host's file tree. Names are absolute and slash-separated (`/sys/class/drm`). A symbolic link is followed
// inside the tree: an absolute target starts at the tree's root, and none leads out of it. Errors wrap fs.ErrNotExist
// and fs.ErrPermission where that is what happened.
type Files interface {
	// ReadFile returns the content of a file; longer ones than MaxFileSize are an error that wraps ErrTooLarge.
	ReadFile(name string) ([]byte, error)
	// ReadDir returns the names in a folder, sorted.
	ReadDir(name string) ([]string, error)
	// ReadLink returns the target of a symbolic link as it stands there.
	ReadLink(name string) (string, error)
	// RealPath returns the name with every symbolic link resolved, inside the tree.
	RealPath(name string) (string, error)
	// Stat returns the mode of a file, links followed.
	Stat(name string) (fs.FileMode, error)
}

// Commands runs a host's tools.
type Commands interface {
	// Run runs the tool with its arguments and returns what it printed. A tool that exits with another code than 0 is a
	// result, not an error; an error wraps ErrNoCommand where the tool is not installed, ErrTooLarge where it printed too
	// much, and the context's error where it ran out of time.
	Run(ctx context.Context, argv ...string) (CommandResult, error)
}

// Streamer runs a tool that goes on printing, a line for everything that happens.
type Streamer interface {
	// Stream runs the tool and calls tell with every line that it prints, without its end, until the tool ends, the context
	// does, or tell fails; each of them is an error. The tool's input stays open meanwhile. An error wraps ErrNoCommand
	// where the tool is not installed. The line is only valid until tell returns.
	Stream(ctx context.Context, tell func(line []byte) error, argv ...string) error
}

// Tools runs a host's tools in both ways.
type Tools interface {
	Commands
	Streamer
}

// CommandResult is what a tool printed.
type CommandResult struct {
	ExitCode int
	Stdout   []byte
	Stderr   []byte
}

// Limits on what is read from a host.
const (
	// maxFileSize caps a file: the largest one read is a /proc/cpuinfo, of 2 KiB a thread.
	maxFileSize = 4 << 20
	// MaxOutputSize caps what a command prints: `nvidia-smi -q -x` prints 30 KiB a GPU.
	MaxOutputSize = 1 << 20
	// maxLineSize caps a line of a tool that goes on printing: one about an error of a GPU has some hundred bytes.
	maxLineSize = 4 << 10
)

// Errors that callers tell apart.
var (
	ErrNoCommand = errors.New("command not found")
	ErrTooLarge  = errors.New("larger than allowed")
)
