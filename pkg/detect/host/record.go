package host

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"sync"
)

// Record returns a host that reads through the given one and a recording that fills with what is read: files, folders,
// the links on every path, and what tools print. Only use the recording when all reading is done.
func Record(h *Host) (*Host, *Recording) {
	r := &recorder{files: h.Files, commands: h.Commands, recording: NewRecording()}
	recorded := &Host{Files: r}
	if h.Commands != nil {
		r.recording.AllowCommands()
		recorded.Commands = r
	}
	return recorded, r.recording
}

// recorder is Files and Commands that keep what they gave. What cannot be kept (a name that changed its kind meanwhile) is left out.
type recorder struct {
	files    Files
	commands Commands

	mu        sync.Mutex
	recording *Recording
}

// ReadFile implements Files.
func (r *recorder) ReadFile(name string) ([]byte, error) {
	data, err := r.files.ReadFile(name)
	if place, ok := r.trail(name); ok {
		switch mode, statErr := r.files.Stat(place); {
		case statErr != nil || !mode.IsRegular():
			r.seen(place)
		case err != nil:
			r.keep(place, &entry{mode: mode, err: causeOf(err)})
		default:
			r.keep(place, &entry{mode: mode, data: publicPart(place, data)})
		}
	}
	return data, err
}

// ReadDir implements Files.
func (r *recorder) ReadDir(name string) ([]string, error) {
	names, err := r.files.ReadDir(name)
	if place, ok := r.trail(name); ok {
		if mode, statErr := r.files.Stat(place); statErr == nil && mode.IsDir() {
			r.keep(place, &entry{mode: mode, err: causeOf(err)})
			for _, child := range names {
				r.seen(path.Join(place, child))
			}
		}
	}
	return names, err
}

// ReadLink implements Files.
func (r *recorder) ReadLink(name string) (string, error) {
	if parent, ok := r.trail(path.Dir(name)); ok {
		r.seen(path.Join(parent, path.Base(name)))
	}
	return r.files.ReadLink(name)
}

// RealPath implements Files.
func (r *recorder) RealPath(name string) (string, error) {
	r.visit(name)
	return r.files.RealPath(name)
}

// Stat implements Files.
func (r *recorder) Stat(name string) (fs.FileMode, error) {
	r.visit(name)
	return r.files.Stat(name)
}

// visit keeps the links on the way to a name, and of what kind it is.
func (r *recorder) visit(name string) {
	if place, ok := r.trail(name); ok {
		r.seen(place)
	}
}

// trail resolves a name and keeps the links on its way; ok is false where the way ends in nothing.
func (r *recorder) trail(name string) (place string, ok bool) {
	place, err := resolve(name, func(step string) (string, bool, error) {
		target, err := r.files.ReadLink(step)
		if err == nil {
			r.keep(step, &entry{mode: fs.ModeSymlink | 0o777, data: []byte(target)})
			return target, true, nil
		}
		// Readlink fails alike for what is no link and what cannot be looked at: only Stat tells.
		_, err = r.files.Stat(step)
		return "", false, err
	})
	return place, err == nil
}

// seen keeps that a name exists and of what kind it is. The name holds no links but for its last step.
func (r *recorder) seen(name string) {
	if target, err := r.files.ReadLink(name); err == nil {
		r.keep(name, &entry{mode: fs.ModeSymlink | 0o777, data: []byte(target)})
		return
	}
	mode, err := r.files.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		r.keep(name, &entry{err: causeOf(err)})
	case mode.IsDir():
		r.keep(name, &entry{mode: mode})
	case mode&fs.ModeCharDevice != 0:
		r.keep(name, &entry{mode: mode, err: errNotRegular})
	default:
		// Sockets, pipes and block devices are of no use to a detector but as names.
		r.keep(name, &entry{mode: mode.Perm(), err: errNotRecorded})
	}
}

// keep adds an entry unless the name is known already.
func (r *recorder) keep(name string, e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.recording.add(name, e) // the first reading stands
}

// causeOf is the error that replay is to wrap in the name again.
func causeOf(err error) error {
	if err == nil {
		return nil
	}
	return recalledError(rootCause(err).Error())
}

// Run implements Commands, and keeps what the tool printed.
func (r *recorder) Run(ctx context.Context, argv ...string) (CommandResult, error) {
	result, err := r.commands.Run(ctx, argv...)
	if errors.Is(err, ErrNoCommand) {
		return result, err
	}
	line := recorded(result, argv)
	if err != nil {
		line = recordedCommand{Argv: argv, Error: commandCause(err)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.recording.addCommand(line) // the first run stands
	return result, err
}

// commandCause is the text of an error without the command that replay puts before it again.
func commandCause(err error) string {
	return cmp.Or(errors.Unwrap(err), err).Error()
}
