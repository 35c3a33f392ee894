package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

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
	// Now tells the time that measurements are old at, After when some time has passed; nil are the clock's. Get reads what is at an address; nil
	// where nothing can be read.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
	Get   func(ctx context.Context, address string) ([]byte, error)
	// Width is how many columns the terminal has to which Out goes; 0 where nobody knows. Terminal says that it goes to one.
	Width    int
	Terminal bool

	told *slog.Logger
}

// Clear parts what comes next from what was printed before: on a terminal it takes its place.
func (s Streams) Clear() {
	parting := "\n"
	if s.Terminal {
		parting = "\x1b[H\x1b[2J\x1b[3J"
	}
	_, _ = io.WriteString(s.Out, parting)
}

// Later tells when some time has passed.
func (s Streams) Later() func(time.Duration) <-chan time.Time {
	if s.After == nil {
		return time.After
	}
	return s.After
}

// Clock tells the time.
func (s Streams) Clock() func() time.Time {
	if s.Now == nil {
		return time.Now
	}
	return s.Now
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

// Attach gives a root command its streams, the flag -v, help that is as wide as a terminal, and errors that count as mistakes in the command line. The streams
// that it returns are for the commands below root.
func Attach(root *cobra.Command, streams Streams) Streams {
	streams = addVerbosity(root, streams)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages |", fmt.Sprintf("Flags.FlagUsagesWrapped %d |", LineWidth)))
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	return streams
}

// Tell writes a message to the errors, no wider than a terminal.
func (s Streams) Tell(message string) {
	for line := range strings.Lines(message) {
		for _, folded := range Fold(strings.TrimSuffix(line, "\n"), (&Page{Width: s.Width}).Columns(), leading(line)+"  ") {
			_, _ = fmt.Fprintln(s.Err, folded)
		}
	}
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
	streams.Tell("error: " + err.Error())
	if errors.As(err, new(usageError)) {
		_, _ = fmt.Fprintf(streams.Err, "See '%s --help' for usage.\n", ran.CommandPath())
		return ExitUsage
	}
	return ExitFailure
}

// Levels of the log by how often -v is given: without it nothing is told.
const (
	quiet        = slog.LevelError + 1
	tellsRuns    = slog.LevelInfo
	tellsReads   = slog.LevelDebug
	verboseUsage = "tell on standard error what is read and run: -v input files, tools and backends, -vv each file of the host, too"
)

// addVerbosity gives a command and those below it -v, and a log to the streams that obeys it.
func addVerbosity(root *cobra.Command, streams Streams) Streams {
	level := new(slog.LevelVar)
	level.Set(quiet)
	streams.told = newLog(streams.Err, level)
	var verbosity int
	root.PersistentFlags().CountVarP(&verbosity, "verbose", "v", verboseUsage)
	root.PersistentPreRun = func(*cobra.Command, []string) {
		switch {
		case verbosity > 1:
			level.Set(tellsReads)
		case verbosity == 1:
			level.Set(tellsRuns)
		}
	}
	return streams
}

// newLog writes lines of keys and values.
func newLog(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// Log returns the log in which a command tells what it reads and runs.
func (s Streams) Log() *slog.Logger {
	if s.told == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.told
}

// MaxInput is the size in bytes of a file or of standard input: the inventories of 10,000 nodes are below it.
const MaxInput = 1 << 30

// StdinName stands for standard input among file names.
const StdinName = "-"

// ReadInput reads a file, or standard input for `-`.
func ReadInput(name string, streams Streams, limit int64) ([]byte, error) {
	in := streams.In
	if name != StdinName {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	content, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes: give a smaller file", name, limit)
	}
	streams.Log().Info("read", "file", name, "bytes", len(content))
	return content, nil
}
