package host

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// newHostRoot has the commands of the package alone.
func newHostRoot(streams term.Streams) *cobra.Command {
	root := &cobra.Command{Use: "kubectl-rankwright", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(NewDetect(term.Attach(root, streams)))
	return root
}

func hostRun(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, newHostRoot, "", args...)
}

func hostOK(t *testing.T, args ...string) string {
	t.Helper()
	return clitest.OK(t, newHostRoot, "", args...)
}
