//go:build unix

package host

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// failing is Files and Commands that fail as hosts do.
type failing struct{ Files }

func (f failing) ReadFile(name string) ([]byte, error) {
	switch name {
	case "/secret":
		return nil, pathError("read", name, fs.ErrPermission)
	case "/broken":
		return nil, pathError("read", name, errors.New("input/output error"))
	}
	return f.Files.ReadFile(name)
}

func (failing) Run(_ context.Context, argv ...string) (CommandResult, error) {
	switch argv[0] {
	case "slow":
		return CommandResult{}, CommandError(argv, context.DeadlineExceeded)
	case "large":
		return CommandResult{}, CommandError(argv, ErrTooLarge)
	case "odd":
		return CommandResult{ExitCode: 7, Stdout: []byte("<&>\u2028"), Stderr: []byte("e")}, nil
	default:
		return CommandResult{}, CommandError(argv[:1], ErrNoCommand)
	}
}

func TestReplayFailsAsTheHostDid(t *testing.T) {
	live := failing{LiveFiles(tree(t, map[string]string{"secret": "x", "broken": "x", "seen": "x"}))}
	h, recording := Record(&Host{Files: live, Commands: live})
	try := func(h *Host) (said []string) {
		for _, name := range []string{"/secret", "/broken", "/absent"} {
			_, err := h.Files.ReadFile(name)
			said = append(said, err.Error())
		}
		for _, tool := range []string{"slow", "large", "odd", "none"} {
			result, err := h.Commands.Run(t.Context(), tool, "-x")
			said = append(said, string(result.Stdout)+string(result.Stderr))
			if err != nil {
				said = append(said, err.Error())
			}
		}
		return said
	}
	want := try(h)
	if _, err := h.Files.ReadDir("/"); err != nil {
		t.Fatal(err)
	}
	replayed, err := ReadRecording(bytes.NewReader(pack(t, recording)))
	if err != nil {
		t.Fatal(err)
	}
	again := replayed.Host()
	if diff := cmp.Diff(want, try(again)); diff != "" {
		t.Error(diff)
	}
	if _, err := again.Files.ReadFile("/secret"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("permission: %v", err)
	}
	for tool, want := range map[string]error{"slow": context.DeadlineExceeded, "large": ErrTooLarge, "none": ErrNoCommand} {
		if _, err := again.Commands.Run(t.Context(), tool, "-x"); !errors.Is(err, want) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if names, err := again.Files.ReadDir("/"); len(names) != 3 || err != nil {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := again.Files.ReadFile("/seen"); !errors.Is(err, errNotRecorded) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that was seen and not read: %v", err)
	}
}
