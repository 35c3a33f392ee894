// Package cli is the commands of kubectl-rankwright: flags, reading files or a cluster, and printing around the pure packages.
// Clusters are talked to by package cluster alone.
package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/calibrate"
	"github.com/rankwright/rankwright/internal/cli/host"
	"github.com/rankwright/rankwright/internal/cli/live"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/ranks"
	"github.com/rankwright/rankwright/internal/cli/sizing"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/version"
)

// Run runs the plugin with the arguments after its name and returns its exit code.
func Run(ctx context.Context, args []string, streams term.Streams) int {
	return term.Execute(ctx, newRoot, args, streams)
}

func newRoot(streams term.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-rankwright",
		Short: "See accelerators, models, plans and ranks, of a cluster and without one",
		Long: `See what accelerators a host has, what a model needs, which device would hold which layers, and which rank is in which
process group. top, tree, why, explain, plan, recommend, diff, cordon, uncordon, replan and verify ask a cluster, with
the flags and the rights that kubectl has; of these plan and recommend take files instead, or --offline. All other
commands contact none: what a cluster would decide is computed here from files.

The exit code is 0 where a command did what was asked, 1 where it could not or there is no plan, 2 where the command
line is wrong, and 3 where an alert of detect is met or diff finds that something would move.`,
		Example: `  # The accelerators of this host
  kubectl rankwright detect

  # Who holds which device of the cluster, what is free, and what idle devices cost
  kubectl rankwright top

  # Why a pod is pending, and which command would change it
  kubectl rankwright why pod/llama-0

  # Plan a model on the inventories of a cluster
  kubectl get accinv,nodes -o yaml | kubectl rankwright plan -f - -f placement.yaml`,
		Version:       version.String(),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl rankwright"},
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return term.Usagef("unknown command %q: use calibrate, cordon, cost, detect, diff, estimate, explain, export, mesh, model, models, plan, recommend, replan, simulate, top, train, tree, uncordon, verify or why", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	streams = term.Attach(root, streams)
	root.AddCommand(calibrate.New(streams), live.NewCordon(streams), live.NewReplan(streams), live.NewUncordon(streams), live.NewVerify(streams), sizing.NewCost(streams), host.NewDetect(streams), sizing.NewEstimate(streams, time.Now), ranks.NewExport(streams), ranks.NewMesh(streams), sizing.NewModel(streams), planning.NewDiff(streams), planning.NewExplain(streams), planning.NewModels(streams, time.Now), planning.NewPlan(streams), planning.NewRecommend(streams), planning.NewSimulate(streams, time.Now), live.NewTop(streams), sizing.NewTrain(streams), live.NewTree(streams), planning.NewWhy(streams))
	return root
}
