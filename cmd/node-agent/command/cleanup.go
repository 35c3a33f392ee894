package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/pkg/nodeagent"
	"github.com/rankwright/rankwright/pkg/nodeagent/cleanup"
)

// cleanupFlags are the command line of cleanup.
type cleanupFlags struct {
	options    cleanup.Options
	kubeconfig string
	timeout    time.Duration
}

func newCleanupCommand(stderr io.Writer) *cobra.Command {
	var f cleanupFlags
	command := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove what agents and operator leave in a cluster",
		Long: `Removes the labels and annotations that node agents hold on Nodes, the inventories, the heartbeats, and the operator's
records. It is run once, after agents and operator are deleted, and may be run again. Models, plans and meshes stay.`,
		Args: noArguments("cleanup"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return usageError{err}
			}
			return f.run(c.Context(), stderr)
		},
	}
	set := command.Flags()
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file`; default $KUBECONFIG, else the pod's service account")
	set.StringVar(&f.options.AgentNamespace, "agent-namespace", nodeagent.DefaultLeaseNamespace, "`namespace` of the heartbeats")
	set.StringVar(&f.options.OperatorNamespace, "operator-namespace", "rankwright-operator", "`namespace` of the operator's records")
	set.DurationVar(&f.timeout, "timeout", 2*time.Minute, "time after which to give up")
	return command
}

func (f *cleanupFlags) check() error {
	var errs []error
	for flag, namespace := range map[string]string{"--agent-namespace": f.options.AgentNamespace, "--operator-namespace": f.options.OperatorNamespace} {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("%s: %q cannot be a namespace (%s)", flag, namespace, problems[0]))
		}
	}
	return errors.Join(append(errs, atLeast("--timeout", f.timeout, time.Second))...)
}

func (f *cleanupFlags) run(ctx context.Context, stderr io.Writer) error {
	config, err := loadConfig(f.kubeconfig)
	if err != nil {
		return err
	}
	// The API server's priority and fairness sets the pace, not client-go's default of 5 requests a second.
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	f.options.Log, f.options.Clock = newClientLogger(stderr, slog.LevelInfo), clock.RealClock{}
	return cleanup.Run(ctx, client, f.options)
}
