package cli

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
	// ExitFailure: it could not, or there is no plan.
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

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errReported ends a command whose failure is on the output already.
var errReported = errors.New("reported")

// errAlert ends a command that has told of an alert.
var errAlert = errors.New("an alert is met")

// arguments refuses more arguments than a command takes, as a matter of usage.
func arguments(most int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > most {
			return usagef("%d arguments given: %s", len(args), what)
		}
		return nil
	}
}

// attach gives a root command its streams, the flag -v, and its way to tell a mistake in the command line. What it returns
// is for the commands below.
func attach(root *cobra.Command, streams Streams) Streams {
	streams = addVerbosity(root, streams)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	return streams
}

// execute runs a command line and returns its exit code.
func execute(ctx context.Context, newRoot func(Streams) *cobra.Command, args []string, streams Streams) int {
	root := newRoot(streams)
	root.SetArgs(args)
	ran, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, errReported):
		return ExitFailure
	case errors.Is(err, errAlert):
		return ExitAlert
	}
	_, _ = fmt.Fprintln(streams.Err, "error:", err)
	if errors.As(err, new(usageError)) {
		_, _ = fmt.Fprintf(streams.Err, "See '%s --help' for usage.\n", ran.CommandPath())
		return ExitUsage
	}
	return ExitFailure
}
