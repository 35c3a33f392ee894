package term

import (
	"io"
	"log/slog"

	"github.com/spf13/cobra"
)

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
