package host

import (
	"context"
	"io/fs"
	"log/slog"
)

// Told returns a host that logs what is read and run through it: tools at level Info, files, folders and links at level Debug.
// What tools print and files hold is not logged.
func Told(h *Host, log *slog.Logger) *Host {
	told := &Host{Files: toldFiles{h.Files, log}}
	if h.Commands != nil {
		told.Commands = toldCommands{h.Commands, log}
	}
	return told
}

type toldFiles struct {
	files Files
	log   *slog.Logger
}

// ReadFile implements Files.
func (f toldFiles) ReadFile(name string) ([]byte, error) {
	data, err := f.files.ReadFile(name)
	f.tell("file", name, err, slog.Int("bytes", len(data)))
	return data, err
}

// ReadDir implements Files.
func (f toldFiles) ReadDir(name string) ([]string, error) {
	names, err := f.files.ReadDir(name)
	f.tell("folder", name, err, slog.Int("names", len(names)))
	return names, err
}

// ReadLink implements Files.
func (f toldFiles) ReadLink(name string) (string, error) {
	target, err := f.files.ReadLink(name)
	f.tell("link", name, err, slog.String("target", target))
	return target, err
}

// RealPath implements Files.
func (f toldFiles) RealPath(name string) (string, error) {
	place, err := f.files.RealPath(name)
	f.tell("path", name, err, slog.String("place", place))
	return place, err
}

// Stat implements Files.
func (f toldFiles) Stat(name string) (fs.FileMode, error) {
	mode, err := f.files.Stat(name)
	f.tell("mode", name, err, slog.String("mode", mode.String()))
	return mode, err
}

// tell logs what was read, or the kind of error and the error.
func (f toldFiles) tell(what, name string, err error, result slog.Attr) {
	if err != nil {
		result = slog.Group("", slog.String("errorKind", string(ErrorKind(err))), slog.Any("error", err))
	}
	f.log.LogAttrs(context.Background(), slog.LevelDebug, what, slog.String("name", name), result)
}

type toldCommands struct {
	commands Commands
	log      *slog.Logger
}

// Run implements Commands.
func (c toldCommands) Run(ctx context.Context, argv ...string) (CommandResult, error) {
	result, err := c.commands.Run(ctx, argv...)
	if err != nil {
		c.log.InfoContext(ctx, "tool", "argv", argv, "errorKind", ErrorKind(err), "error", err)
		return result, err
	}
	c.log.InfoContext(ctx, "tool", "argv", argv, "exitCode", result.ExitCode, "printedBytes", len(result.Stdout), "complainedBytes", len(result.Stderr))
	return result, nil
}
