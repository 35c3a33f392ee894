package live

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/holding"
)

// asking is a change of a placement's spec that asks the operator for something.
type asking struct {
	word, short, long, example string
	// spec is the change of the spec, at a time of the API server; next says what happens then.
	spec func(p *v1alpha1.ModelPlacement, now time.Time) (map[string]any, error)
	next string
}

// NewReplan returns the command `kubectl rankwright replan`.
func NewReplan(streams term.Streams) *cobra.Command {
	return newAsking(streams, &asking{
		word: "replan", short: "Ask for a fresh plan of a placement",
		long: `Ask for a fresh plan of a placement, made as if there were none: after a faster node has joined, or to move it off
devices that were cordoned. diff mp/NAME shows beforehand what would move. Pods of ranks that move are made anew by
their controllers; where a fresh plan would be the same, nothing happens. It is written into spec.replanRequest.`,
		example: `  kubectl rankwright diff mp/llama
  kubectl rankwright replan mp/llama`,
		spec: func(_ *v1alpha1.ModelPlacement, now time.Time) (map[string]any, error) {
			return map[string]any{"replanRequest": now.UTC().Format(time.RFC3339)}, nil
		},
		next: "a fresh plan is asked for: kubectl rankwright tree mp/%[1]s -n %[2]s",
	})
}

// NewVerify returns the command `kubectl rankwright verify`.
func NewVerify(streams term.Streams) *cobra.Command {
	return newAsking(streams, &asking{
		word: "verify", short: "Ask the pods of a placement to verify their mesh anew",
		long: `Ask the pods of a placement to verify their mesh anew: what they reported before does not count any more. They verify
before their containers start, so make them anew, all of them, once it was asked for. The placement must ask for
verification, by spec.verification; it is written into notBefore there.`,
		example: `  kubectl rankwright verify mp/llama
  kubectl delete pods -l rankwright.dev/placement=llama
  kubectl rankwright tree mp/llama`,
		spec: func(p *v1alpha1.ModelPlacement, now time.Time) (map[string]any, error) {
			if !p.Spec.Verification.Asked() {
				return nil, fmt.Errorf("placement %s/%s asks for no verification: set spec.verification.mode to Report or Require", p.Namespace, p.Name)
			}
			// What was reported within this second is before it.
			return map[string]any{"verification": map[string]any{"notBefore": now.UTC().Truncate(time.Second).Add(time.Second).Format(time.RFC3339)}}, nil
		},
		next: "its pods verify anew when they are made anew: kubectl delete pods -n %[2]s -l " + v1alpha1.LabelPlacement + "=%[1]s",
	})
}

func newAsking(streams term.Streams, what *asking) *cobra.Command {
	var flags cluster.Flags
	var how cluster.Changing
	command := &cobra.Command{
		Use: what.word + " mp/NAME", Short: what.short, Long: what.long, Example: what.example,
		Args: cluster.OneTarget(what.word + " mp/NAME"),
		RunE: func(command *cobra.Command, args []string) error {
			return what.run(command.Context(), streams, &flags, args[0], &how)
		},
	}
	how.Add(command)
	flags.Add(command)
	flags.Complete(command, cluster.APlacement)
	return command
}

func (a *asking) run(ctx context.Context, streams term.Streams, flags *cluster.Flags, text string, how *cluster.Changing) error {
	target, err := cluster.ParseTarget(text, cluster.APlacement)
	if err != nil {
		return err
	}
	of, err := flags.Connect(streams)
	if err != nil {
		return err
	}
	objects, err := of.Read(ctx, streams, holding.Placements)
	if err != nil {
		return err
	}
	placement, err := objects.Placement(of.Namespace, target.Name)
	if err != nil {
		return err
	}
	spec, err := a.spec(placement, of.Now())
	if err != nil {
		return err
	}
	changed, err := cluster.Merge(ctx, of, holding.Placements, placement, map[string]any{"spec": spec}, how)
	if err != nil {
		return err
	}
	return of.Tell(streams, how, changed, fmt.Sprintf("modelplacement.rankwright.dev/%[1]s: "+a.next+"%[3]s\n", placement.Name, placement.Namespace, how.Text()))
}
