//go:build unix

package host

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestStreamTellsEveryLine(t *testing.T) {
	commands, _ := tool(t, `echo "$1"; echo second; echo because >&2; exit 3`)
	var lines []string
	err := streamer(t, commands).Stream(t.Context(), func(line []byte) error {
		lines = append(lines, string(line))
		return nil
	}, "tool", "first")
	if got := strings.Join(lines, " "); got != "first second" {
		t.Errorf("lines: %s", got)
	}
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "because") {
		t.Errorf("what it said of its end: %v", err)
	}
}

// A tool that would go on for ever ends with the context, with a listener that fails, and with a line without end.
func TestStreamEnds(t *testing.T) {
	errListener := errors.New("not understood")
	tests := map[string]struct {
		script string
		tell   func(cancel func()) error
		want   string
	}{
		"with the context":         {`echo line; exec cat`, func(cancel func()) error { cancel(); return nil }, "killed"},
		"with its listener":        {`echo line; exec cat`, func(func()) error { return errListener }, "line 1: not understood"},
		"with a line without end":  {`exec cat /dev/zero`, func(func()) error { return nil }, "too long"},
		"with its input, in peace": {`echo line`, func(func()) error { return nil }, "it ended"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			commands, _ := tool(t, test.script)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := streamer(t, commands).Stream(ctx, func([]byte) error { return test.tell(cancel) }, "tool")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestStreamOfWhatIsNotInstalled(t *testing.T) {
	commands, _ := tool(t, ``)
	if err := streamer(t, commands).Stream(t.Context(), nil, "other"); !errors.Is(err, ErrNoCommand) {
		t.Error(err)
	}
}

func streamer(t *testing.T, commands Commands) Streamer {
	t.Helper()
	live, ok := commands.(*liveCommands)
	if !ok {
		t.Fatalf("%T", commands)
	}
	return live
}
