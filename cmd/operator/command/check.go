package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/internal/installation"
)

// checkPoll is the time between two looks at an installation that is not ready yet.
const checkPoll = 2 * time.Second

// checkOptions are the flags of check.
type checkOptions struct {
	installed  installation.Installation
	kubeconfig string
	timeout    time.Duration
}

func checkCommand() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say whether the installation in the cluster works, waiting until it does",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.check(cmd.Context(), cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file`; without it $KUBECONFIG, the pod's service account or ~/.kube/config")
	flags.StringVar(&o.installed.Namespace, "namespace", "rankwright-operator", "`namespace` of the operator")
	flags.StringVar(&o.installed.AgentNamespace, "agent-namespace", "rankwright-node-agent", "`namespace` of the node agents")
	flags.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait until it works")
	return cmd
}

// check looks until all is well or the time is over, and prints what it saw last.
func (o checkOptions) check(ctx context.Context, out io.Writer) error {
	cfg, err := loadConfig(o.kubeconfig)
	if err != nil {
		return fmt.Errorf("configuration of the client: %w", err)
	}
	scheme, err := operator.Scheme()
	if err != nil {
		return err
	}
	o.installed.Now = time.Now
	if o.installed.Reader, err = client.New(cfg, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	var findings []installation.Finding
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	err = wait.PollUntilContextCancel(ctx, checkPoll, true, func(ctx context.Context) (bool, error) {
		look := o.installed.Look(ctx)
		// A look that the deadline cut off says nothing of the cluster.
		if findings == nil || ctx.Err() == nil {
			findings = look
		}
		return installation.Problem(findings) == nil, nil
	})
	if printErr := printFindings(out, findings); printErr != nil {
		return printErr
	}
	if err != nil {
		return errors.New("the installation does not work, see above")
	}
	return nil
}

func printFindings(out io.Writer, findings []installation.Finding) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "CHECK\tSTATUS\tMESSAGE")
	for _, f := range findings {
		status, message := "OK", f.Good
		if f.Problem != nil {
			status, message = "Failed", f.Problem.Error()
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", f.Check, status, message)
	}
	return table.Flush()
}
