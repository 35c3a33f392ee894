package survey

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// tools take a second for each letter of their names.
type tools struct{ now time.Time }

func (c *tools) Run(_ context.Context, argv ...string) (host.CommandResult, error) {
	c.now = c.now.Add(time.Duration(len(argv[0])) * time.Second)
	switch argv[0] {
	case "none":
		return host.CommandResult{}, host.ErrNoCommand
	case "hangs":
		return host.CommandResult{}, context.DeadlineExceeded
	case "fails":
		return host.CommandResult{ExitCode: 3}, nil
	}
	return host.CommandResult{}, nil
}

func TestToolsAreMeasured(t *testing.T) {
	commands := &tools{}
	watch := &stopwatch{commands: commands, run: 2, now: func() time.Time { return commands.now }}
	for _, tool := range []string{"smi", "none", "hangs", "fails"} {
		if _, err := watch.Run(t.Context(), tool, "-q"); errors.Is(err, host.ErrNoCommand) != (tool == "none") {
			t.Errorf("%s: %v", tool, err)
		}
	}
	want := []ToolRun{
		{Run: 2, Command: "smi -q", Millis: 3000},
		{Run: 2, Command: "hangs -q", Millis: 5000, Failed: "context deadline exceeded"},
		{Run: 2, Command: "fails -q", Millis: 5000, Failed: "exit code 3"},
	}
	if diff := cmp.Diff(want, watch.runs()); diff != "" {
		t.Error(diff)
	}
}

func TestPodNotes(t *testing.T) {
	pod := Pod{Name: "nvidia", Asked: "nvidia.com/gpu=1", Expected: 1, Phase: "Failed", Reason: "two\nlines", Output: "a: b\n\ndevices=1 memoryMiB=2\n"}
	read, err := parsePod("nvidia", pod.note())
	if err != nil {
		t.Fatal(err)
	}
	pod.Reason = "two lines"
	if diff := cmp.Diff(pod, read); diff != "" {
		t.Error(diff)
	}
	if devices, memory, ok := read.count(); devices != 1 || memory != 2 || !ok {
		t.Errorf("counted %d, %d, %v", devices, memory, ok)
	}
	if _, err := parsePod("nvidia", "expected: x\n\n"); err == nil {
		t.Error("x is taken for a number")
	}
}
