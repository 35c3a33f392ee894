package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	// ExitOK: the command did what it was asked to.
	ExitOK = 0
	// ExitFailure: the command could not do it, or there is no plan.
	ExitFailure = 1
	// ExitUsage: the command line is wrong.
	ExitUsage = 2
	// ExitAlert: an alert of detect is met.
	ExitAlert = 3
)

// Streams are where a command reads and writes. Results go to Out, all else to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	told *slog.Logger
}

// usageError is a mistake in the command line.
type usageError struct{ error }

// Usagef returns an error in how a command was called, for which the program exits with ExitUsage.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// ErrReported ends a command whose failure is on the output already.
var ErrReported = errors.New("reported")

// ErrAlert ends a command that has told of an alert.
var ErrAlert = errors.New("an alert is met")

// Arguments refuses more arguments than a command takes, as a matter of usage.
func Arguments(most int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > most {
			return Usagef("%d arguments given: %s", len(args), what)
		}
		return nil
	}
}

// Attach gives a root command its streams, the flag -v, and errors that count as mistakes in the command line. The streams
// that it returns are for the commands below root.
func Attach(root *cobra.Command, streams Streams) Streams {
	streams = addVerbosity(root, streams)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	return streams
}

// Execute runs a command line and returns its exit code.
func Execute(ctx context.Context, newRoot func(Streams) *cobra.Command, args []string, streams Streams) int {
	root := newRoot(streams)
	root.SetArgs(args)
	ran, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrReported):
		return ExitFailure
	case errors.Is(err, ErrAlert):
		return ExitAlert
	}
	_, _ = fmt.Fprintln(streams.Err, "error:", err)
	if errors.As(err, new(usageError)) {
		_, _ = fmt.Fprintf(streams.Err, "See '%s --help' for usage.\n", ran.CommandPath())
		return ExitUsage
	}
	return ExitFailure
}
