package host

import (
	"context"
	"io/fs"
	"log/slog"
)

// Told returns a host that logs what is read and run through it: tools at level Info, files, folders and links at level Debug.
// What tools print and files hold is not logged.
func Told(h *Host, log *slog.Logger) *Host {
	logged := &Host{Files: toldFiles{h.Files, log}}
	if h.Commands != nil {
		logged.Commands = toldCommands{h.Commands, log}
	}
	return logged
}

type toldFiles struct {
	files Files
	log   *slog.Logger
}

// ReadFile implements Files.
func (f toldFiles) ReadFile(name string) ([]byte, error) {
	return told(f.log, "file", name, f.files.ReadFile, func(data []byte) slog.Attr { return slog.Int("bytes", len(data)) })
}

// ReadDir implements Files.
func (f toldFiles) ReadDir(name string) ([]string, error) {
	return told(f.log, "folder", name, f.files.ReadDir, func(names []string) slog.Attr { return slog.Int("names", len(names)) })
}

// ReadLink implements Files.
func (f toldFiles) ReadLink(name string) (string, error) {
	return told(f.log, "link", name, f.files.ReadLink, func(target string) slog.Attr { return slog.String("target", target) })
}

// RealPath implements Files.
func (f toldFiles) RealPath(name string) (string, error) {
	return told(f.log, "path", name, f.files.RealPath, func(place string) slog.Attr { return slog.String("place", place) })
}

// Stat implements Files.
func (f toldFiles) Stat(name string) (fs.FileMode, error) {
	return told(f.log, "mode", name, f.files.Stat, func(mode fs.FileMode) slog.Attr { return slog.String("mode", mode.String()) })
}

// told logs what was read, or the kind of error and the error.
func told[T any](log *slog.Logger, what, name string, read func(string) (T, error), result func(T) slog.Attr) (T, error) {
	value, err := read(name)
	found := result(value)
	if err != nil {
		found = slog.Group("", slog.String("errorKind", string(ErrorKind(err))), slog.Any("error", err))
	}
	log.LogAttrs(context.Background(), slog.LevelDebug, what, slog.String("name", name), found)
	return value, err
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
