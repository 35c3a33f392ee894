package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// stopwatch is Commands that measures each run. The first run of a command is the one that a recording keeps.
type stopwatch struct {
	commands host.Commands
	run      int
	now      func() time.Time

	mu   sync.Mutex
	done []timed
}

type timed struct {
	ToolRun
	start time.Time
}

// Run implements detect.Commands.
func (s *stopwatch) Run(ctx context.Context, argv ...string) (host.CommandResult, error) {
	start := s.now()
	result, err := s.commands.Run(ctx, argv...)
	if errors.Is(err, host.ErrNoCommand) {
		return result, err
	}
	took := ToolRun{Run: s.run, Command: strings.Join(argv, " "), Millis: s.now().Sub(start).Milliseconds()}
	switch {
	case err != nil:
		took.Failed = err.Error()
	case result.ExitCode != 0:
		took.Failed = fmt.Sprintf("exit code %d", result.ExitCode)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, timed{took, start})
	return result, err
}

func (s *stopwatch) runs() []ToolRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.done, func(a, b timed) int {
		return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.Command, b.Command))
	})
	var ordered []ToolRun
	for _, t := range s.done {
		ordered = append(ordered, t.ToolRun)
	}
	return ordered
}
