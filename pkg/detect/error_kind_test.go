package detect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// tools is a host's command that always ends the same way.
type tools struct {
	result CommandResult
	err    error
}

func (c tools) Run(context.Context, ...string) (CommandResult, error) { return c.result, c.err }

func TestErrorKinds(t *testing.T) {
	run := func(commands Commands) error {
		_, err := queryTool(t.Context(), &Host{Commands: commands}, "install it", "smi", "-q")
		return err
	}
	recorded := NewRecording()
	if err := errors.Join(recorded.AddFile("/n", "many"), recorded.addCommand(recordedCommand{Argv: []string{"smi", "-q"}, Error: "exec format error"})); err != nil {
		t.Fatal(err)
	}
	_, _, notANumber := readInt(recorded.Host().Files, "/n")
	_, missing := recorded.Host().Files.ReadFile("/sys/none")
	late, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	for name, test := range map[string]struct {
		problem error
		want    v1alpha1.ErrorKind
	}{
		"none":                   {nil, ""},
		"a file that is closed":  {fmt.Errorf("list: %w", &fs.PathError{Op: "open", Path: "/dev/x", Err: fs.ErrPermission}), v1alpha1.ErrorPermissionDenied},
		"a file that is missing": {missing, v1alpha1.ErrorNotFound},
		"no number":              {notANumber, v1alpha1.ErrorMalformed},
		"no JSON":                {fmt.Errorf("report: %w", json.Unmarshal([]byte("{"), new(int))), v1alpha1.ErrorMalformed},
		"a long file":            {fmt.Errorf("cpuinfo: %w", ErrTooLarge), v1alpha1.ErrorTooLarge},
		"no tool":                {run(tools{err: commandError([]string{"smi"}, ErrNoCommand)}), v1alpha1.ErrorToolNotFound},
		"no tool may run":        {run(nil), v1alpha1.ErrorToolNotRun},
		"a tool that fails":      {run(tools{result: CommandResult{ExitCode: 9, Stderr: []byte("no driver")}}), v1alpha1.ErrorToolFailed},
		"a tool that hangs":      {run(tools{err: commandError([]string{"smi"}, late.Err())}), v1alpha1.ErrorTimeout},
		"a tool that is stuck":   {run(tools{err: commandError([]string{"smi"}, ofKind(v1alpha1.ErrorToolFailed, errStuck))}), v1alpha1.ErrorTimeout},
		"a tool that cannot run": {run(recorded.Host().Commands), v1alpha1.ErrorToolFailed},
		"a tool that babbles":    {commandError([]string{"smi"}, errors.New("no GPU in what it printed")), v1alpha1.ErrorMalformed},
		"a defect":               {fmt.Errorf("%w: panic: boom", errPanicked), v1alpha1.ErrorDefect},
		"a contradiction":        {errors.New("7 of 8 partitions are there"), v1alpha1.ErrorOther},
	} {
		t.Run(name, func(t *testing.T) {
			if got := errorKindOf(nil, test.problem); got != test.want {
				t.Errorf("%v is %q, want %q", test.problem, got, test.want)
			}
		})
	}
}

// Of several problems the first one tells, and a backend that is well has no kind.
func TestErrorKindIsInTheStatus(t *testing.T) {
	var degraded Found
	degraded.degrade(nil, fmt.Errorf("first: %w", fs.ErrPermission), ErrTooLarge)
	panicked := outcome{backend: "panicked", err: errPanicked}
	report := join([]outcome{
		{backend: "degraded", found: degraded},
		{backend: "worded", found: Found{Degraded: "half of it"}},
		{backend: "well"},
		{backend: "invented", found: Found{Degraded: "half of it", ErrorKind: "Invented"}},
		{backend: "left out", found: Found{Devices: []v1alpha1.Device{{ID: "no vendor"}}}},
		panicked,
	})
	want := map[string]v1alpha1.ErrorKind{
		"degraded": v1alpha1.ErrorPermissionDenied, "worded": v1alpha1.ErrorOther, "well": "", "invented": v1alpha1.ErrorOther,
		"left out": v1alpha1.ErrorOther, "panicked": v1alpha1.ErrorDefect,
	}
	for _, b := range report.Status.Backends {
		if b.ErrorKind != want[b.Name] {
			t.Errorf("%s: %q, want %q (%s)", b.Name, b.ErrorKind, want[b.Name], b.Message)
		}
	}
}
