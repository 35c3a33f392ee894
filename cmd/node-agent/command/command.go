// Package command is the command line of the node agent.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/version"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a mistake in the command line.
type usageError struct{ error }

// Run is the whole program, and returns its exit code; hangups ask for a rescan.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer, hangups <-chan os.Signal) int {
	command := New(stdout, stderr, hangups)
	command.SetArgs(args)
	err := command.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintln(stderr, "node-agent:", err)
	if errors.As(err, new(usageError)) {
		_, _ = fmt.Fprintln(stderr, "Run node-agent --help for the flags.")
		return exitUsage
	}
	return exitFailure
}

// New is the command with its flags, and the commands below it.
func New(stdout, stderr io.Writer, hangups <-chan os.Signal) *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use:   "node-agent",
		Short: "Detect this node's accelerators and publish them to the cluster",
		Long: `Detects the accelerators of this node, publishes them as an AcceleratorInventory and as labels of the Node, and renews
a Lease as heartbeat. Detection is repeated on a period, when devices come and go, and on SIGHUP. A node without
accelerators, a tool that hangs and an API server that is away are states, not ends: only SIGTERM and SIGINT end the
agent.`,
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArguments("the agent"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.complete(c.Flags()); err != nil {
				return usageError{err}
			}
			return start(c.Context(), f, stdout, stderr, hangups)
		},
	}
	command.SetOut(stdout)
	command.SetErr(stderr)
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f.register(command.Flags())
	command.CompletionOptions.DisableDefaultCmd = true
	command.AddCommand(newCleanupCommand(stderr), newVerifyCommand(stdout, stderr), newSurveyCommand(stdout, stderr), newRecordCommand(stdout))
	return command
}
