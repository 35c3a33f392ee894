// Package cli is the commands of kubectl-rankwright: flags, reading files and printing around the pure packages. Nothing in
// it talks to a cluster.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/version"
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

// Run runs the plugin with the arguments after its name and returns its exit code.
func Run(ctx context.Context, args []string, streams Streams) int {
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

func newRoot(streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-rankwright",
		Short: "See accelerators, models, plans and ranks, with no cluster needed",
		Long: `See what accelerators a host has, what a model needs, which device would hold which layers, and which rank is in which
process group. No command talks to a cluster: what a cluster would decide is computed here from files.`,
		Example: `  # The accelerators of this host
  kubectl rankwright detect

  # Plan a model on the inventories of a cluster
  kubectl get accinv,nodes -o yaml | kubectl rankwright plan -f - -f placement.yaml`,
		Version:       version.String(),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl rankwright"},
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q: use cost, detect, estimate, export, mesh, model, plan, simulate or train", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	streams = addVerbosity(root, streams)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newCost(streams), newDetect(streams), newEstimate(streams), newExport(streams), newMesh(streams), newModel(streams), newPlan(streams), newSimulate(streams, time.Now), newTrain(streams))
	return root
}

// arguments refuses more arguments than a command takes, as a matter of usage.
func arguments(most int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > most {
			return usagef("%d arguments given: %s", len(args), what)
		}
		return nil
	}
}
