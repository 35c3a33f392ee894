package planning

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/sizing"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// NewExplain returns the command `kubectl rankwright explain`.
func NewExplain(streams term.Streams) *cobra.Command {
	var live liveFlags
	var measured sizing.CalibrationFlags
	var output term.Format
	command := &cobra.Command{
		Use:   "explain mp/NAME",
		Short: "Explain the plan of a placement that is in force, with the arithmetic",
		Long: `Explain the plan of a placement that is in force: which devices and shapes there are and why this one was taken, every
byte on a device, every part of a token's time, and why these nodes. It is computed anew from the plan, the placement
and the cluster as it is now, in which the plan's own devices count as free.

Why a placement has no plan, kubectl rankwright why mp/NAME says.`,
		Example: `  kubectl rankwright explain mp/llama
  kubectl rankwright explain mp/llama -n team-a --context production`,
		Args: cluster.OneTarget("explain mp/NAME"),
		RunE: func(command *cobra.Command, args []string) error {
			m, err := live.named(command.Context(), streams, args[0])
			if err != nil {
				return err
			}
			if err := m.calibrate(&measured, streams); err != nil {
				return err
			}
			m.asIs = true
			decisions, err := planAll(m, streams, true)
			if err != nil {
				return err
			}
			return writeDecisions(streams, decisions, output, (*decision).show)
		},
	}
	live.cluster.Add(command)
	live.cluster.Complete(command, cluster.APlacement)
	measured.Add(command)
	term.AddOutput(command, &output, append([]term.Format{term.FormatExplain}, term.NamedFormats...)...)
	return command
}

// named is the cluster with one placement of it that is to be planned.
func (f *liveFlags) named(ctx context.Context, streams term.Streams, text string) (*Manifests, error) {
	target, err := cluster.ParseTarget(text, cluster.APlacement)
	if err != nil {
		return nil, err
	}
	m := &Manifests{}
	if err := f.read(ctx, streams, m, func(of *cluster.Cluster, objects *cluster.Objects) error {
		placement, err := objects.Placement(of.Namespace, target.Name)
		if err != nil {
			return err
		}
		m.Placements = []v1alpha1.ModelPlacement{*placement.DeepCopy()}
		return nil
	}); err != nil {
		return nil, err
	}
	return m, nil
}
