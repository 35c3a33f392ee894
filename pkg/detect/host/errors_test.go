package host

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
		_, err := Query(t.Context(), &Host{Commands: commands}, "install it", "smi", "-q")
		return err
	}
	recorded := NewRecording()
	if err := errors.Join(recorded.AddFile("/n", "many"), recorded.addCommand(recordedCommand{Argv: []string{"smi", "-q"}, Error: "exec format error"})); err != nil {
		t.Fatal(err)
	}
	_, _, notANumber := ReadInt(recorded.Host().Files, "/n")
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
		"no tool":                {run(tools{err: CommandError([]string{"smi"}, ErrNoCommand)}), v1alpha1.ErrorToolNotFound},
		"no tool may run":        {run(nil), v1alpha1.ErrorToolNotRun},
		"a tool that fails":      {run(tools{result: CommandResult{ExitCode: 9, Stderr: []byte("no driver")}}), v1alpha1.ErrorToolFailed},
		"a tool that hangs":      {run(tools{err: CommandError([]string{"smi"}, late.Err())}), v1alpha1.ErrorTimeout},
		"a tool that is stuck":   {run(tools{err: CommandError([]string{"smi"}, OfKind(v1alpha1.ErrorToolFailed, errStuck))}), v1alpha1.ErrorTimeout},
		"a tool that cannot run": {run(recorded.Host().Commands), v1alpha1.ErrorToolFailed},
		"a tool that babbles":    {CommandError([]string{"smi"}, errors.New("no GPU in what it printed")), v1alpha1.ErrorMalformed},
		"a defect":               {fmt.Errorf("panic: %w", OfKind(v1alpha1.ErrorDefect, errors.New("boom"))), v1alpha1.ErrorDefect},
		"a contradiction":        {errors.New("7 of 8 partitions are there"), v1alpha1.ErrorOther},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ErrorKind(nil, test.problem); got != test.want {
				t.Errorf("%v is %q, want %q", test.problem, got, test.want)
			}
		})
	}
}
