package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Query runs a vendor's tool and returns what it printed. It leaves a tenth of the time that is left, so that what
// was found without the tool can still be told. missing says what is not known without the tool, with the remedy. No tool
// is no problem where missing is empty: the output is empty then.
func Query(ctx context.Context, h *Host, missing string, argv ...string) (CommandResult, error) {
	var result CommandResult
	err := errNotRun
	if deadline, ok := ctx.Deadline(); ok {
		shorter, cancel := context.WithTimeout(ctx, time.Until(deadline)*9/10)
		defer cancel()
		ctx = shorter
	}
	if h.Commands != nil {
		result, err = h.Commands.Run(ctx, argv...)
	}
	switch {
	case CannotAsk(h, err) && missing == "":
		return CommandResult{}, nil
	case CannotAsk(h, err):
		return result, fmt.Errorf("%w: %s", err, missing)
	case err != nil:
		return result, err
	case result.ExitCode != 0:
		return result, CommandError(argv, exitError(result, ""))
	}
	return result, nil
}

var errNotRun = OfKind(v1alpha1.ErrorToolNotRun, errors.New("no command may be run"))

// Ask runs Query and returns what parse makes of the output; the zero value where the tool may be missing and prints nothing. An error
// of parse names the command.
func Ask[T any](ctx context.Context, h *Host, missing string, parse func(output []byte) (T, error), argv ...string) (T, error) {
	var none T
	result, err := Query(ctx, h, missing, argv...)
	if err != nil || missing == "" && len(result.Stdout) == 0 {
		return none, err
	}
	answer, err := parse(result.Stdout)
	if err != nil {
		return answer, CommandError(argv, err)
	}
	return answer, nil
}

// exitError says with what a tool ended, and what it said; then says what comes of that.
func exitError(result CommandResult, then string) error {
	said := FirstLine(result.Stderr, result.Stdout)
	return OfKind(v1alpha1.ErrorToolFailed, fmt.Errorf("exits with %d: %s%s", result.ExitCode, said, then))
}

// FirstLine returns the first line of the outputs that is neither empty nor XML, cut to 256 bytes, or words that say that there
// is none.
func FirstLine(outputs ...[]byte) string {
	for _, output := range outputs {
		for line := range strings.Lines(string(output)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "<") {
				return Clip(line, 256)
			}
		}
	}
	return "it says nothing"
}

// CannotAsk says whether the error is of a tool that is not there or may not run: that is a state of the host. Any other
// is a failure, after which nothing is known.
func CannotAsk(h *Host, err error) bool {
	return err != nil && (h.Commands == nil || errors.Is(err, ErrNoCommand))
}
