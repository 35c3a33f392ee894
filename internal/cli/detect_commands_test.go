package cli

import (
	"testing"

	"github.com/spf13/cobra"
)

// newHostRoot has the commands of the package alone.
func newHostRoot(streams Streams) *cobra.Command {
	root := &cobra.Command{Use: "kubectl-rankwright", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(newDetect(attach(root, streams)))
	return root
}

func hostRun(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	return runOf(t, newHostRoot, stdin, args...)
}

func hostOK(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	return okOf(t, newHostRoot, stdin, args...)
}
