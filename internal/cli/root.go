// Package cli is the commands of kubectl-rankwright: flags, reading files or a cluster, and printing around the pure packages.
// Clusters are talked to by package cluster alone.
package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/calibrate"
	"github.com/rankwright/rankwright/internal/cli/host"
	"github.com/rankwright/rankwright/internal/cli/live"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/ranks"
	"github.com/rankwright/rankwright/internal/cli/sizing"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/cli/ui"
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
process group.

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
		Args: func(root *cobra.Command, args []string) error {
			if len(args) > 0 {
				return term.Usagef("unknown command %q: use one of %s", args[0], strings.Join(names(root), ", "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	streams = term.Attach(root, streams)
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"cluster", "Commands that ask a cluster, as kubectl does (plan, recommend and ui also work on files alone):", []*cobra.Command{
			live.NewTop(streams), live.NewTree(streams), planning.NewWhy(streams), planning.NewExplain(streams), planning.NewDiff(streams),
			planning.NewPlan(streams), planning.NewRecommend(streams), ui.New(streams),
			live.NewCordon(streams), live.NewUncordon(streams), live.NewReplan(streams), live.NewVerify(streams), live.NewRecord(streams),
		}},
		{"alone", "Commands that contact none:", []*cobra.Command{
			host.NewDetect(streams), sizing.NewModel(streams), planning.NewModels(streams), sizing.NewEstimate(streams),
			sizing.NewCost(streams), sizing.NewTrain(streams), planning.NewSimulate(streams), ranks.NewMesh(streams), ranks.NewExport(streams),
			calibrate.New(streams),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, command := range group.commands {
			command.GroupID = group.id
			root.AddCommand(command)
		}
	}
	addCompletion(root, streams)
	return root
}

// names are the names of the commands that have a group, which help and completion have not.
func names(root *cobra.Command) []string {
	var names []string
	for _, command := range root.Commands() {
		if command.GroupID != "" {
			names = append(names, command.Name())
		}
	}
	return names
}
