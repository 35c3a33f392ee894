package detect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// queryTool runs a vendor's tool and returns what it printed. It leaves a tenth of the time that is left, so that what
// was found without the tool can still be told. missing says what is not known without the tool, with the remedy. No tool
// is no problem where missing is empty: the output is empty then.
func queryTool(ctx context.Context, host *Host, missing string, argv ...string) (CommandResult, error) {
	if host.Commands == nil {
		if missing == "" {
			return CommandResult{}, nil
		}
		return CommandResult{}, ofKind(v1alpha1.ErrorToolNotRun, fmt.Errorf("no command may be run: %s", missing))
	}
	if deadline, ok := ctx.Deadline(); ok {
		shorter, cancel := context.WithTimeout(ctx, time.Until(deadline)*9/10)
		defer cancel()
		ctx = shorter
	}
	result, err := host.Commands.Run(ctx, argv...)
	switch {
	case errors.Is(err, ErrNoCommand) && missing == "":
		return CommandResult{}, nil
	case errors.Is(err, ErrNoCommand):
		return result, fmt.Errorf("%w: %s", err, missing)
	case err != nil:
		return result, err
	case result.ExitCode != 0:
		return result, commandError(argv, exitError(result, ""))
	}
	return result, nil
}

// exitError says with what a tool ended, and what it said; then says what comes of that.
func exitError(result CommandResult, then string) error {
	said := firstLine(result.Stderr, result.Stdout)
	return ofKind(v1alpha1.ErrorToolFailed, fmt.Errorf("exits with %d: %s%s", result.ExitCode, said, then))
}

// firstLine is the first line that is no XML.
func firstLine(outputs ...[]byte) string {
	for _, output := range outputs {
		for line := range strings.Lines(string(output)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "<") {
				return clip(line, 256)
			}
		}
	}
	return "it says nothing"
}

// cannotAsk says whether the error is of a tool that is not there or may not run: that is a state of the host. Any other
// is a failure, after which nothing is known.
func cannotAsk(host *Host, err error) bool {
	return err != nil && (host.Commands == nil || errors.Is(err, ErrNoCommand))
}
