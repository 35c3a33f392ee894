package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/term"
)

// throughKubectl is the program that kubectl asks to complete a command line of the plugin, found on PATH by its name.
const throughKubectl = `#!/bin/sh
# kubectl asks this program, kubectl_complete-rankwright, how "kubectl rankwright" goes on.
exec kubectl rankwright __complete "$@"
`

// addCompletion adds to cobra's completion scripts the one by which a shell that completes kubectl completes `kubectl rankwright` too.
func addCompletion(root *cobra.Command, streams term.Streams) {
	root.InitDefaultCompletionCmd()
	at := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == "completion" })
	completion := root.Commands()[at]
	completion.Long = `Print a script by which a shell completes commands, flags, and names from the cluster. Where kubectl is completed
already, that of kubectl is enough; the others are of a shell in which the plugin is called kubectl-rankwright.`
	completion.AddCommand(&cobra.Command{
		Use:   "kubectl",
		Short: "Print the program that kubectl asks to complete 'kubectl rankwright'",
		Long: `Print the program that kubectl asks to complete 'kubectl rankwright': save it under the name
kubectl_complete-rankwright, in any folder of PATH. The shell has to complete kubectl, as 'kubectl completion --help'
says.`,
		Example: `  kubectl rankwright completion kubectl > ~/.local/bin/kubectl_complete-rankwright
  chmod +x ~/.local/bin/kubectl_complete-rankwright`,
		Args: term.Arguments(0, "completion kubectl takes none"),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(streams.Out, throughKubectl)
			return err
		},
	})
}
