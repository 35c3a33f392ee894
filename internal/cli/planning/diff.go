package planning

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// NewDiff returns the command `kubectl rankwright diff`.
func NewDiff(streams term.Streams) *cobra.Command {
	var live liveFlags
	var files []string
	var output term.Format
	command := &cobra.Command{
		Use:   "diff (-f FILE... | mp/NAME)",
		Short: "See what a changed placement would move",
		Long: `See what would move if placements became those of files: the plan in force beside the plan that the operator would make,
rank by rank with their devices. With mp/NAME it is what a fresh plan of the same placement would move, as after replan.
Nothing is written.

The exit code is 0 where nothing would move, 3 where something would, 1 where there would be no plan, and 2 where the
command line is wrong.`,
		Example: `  kubectl rankwright diff -f placement.yaml
  kubectl rankwright diff mp/llama && echo nothing would move`,
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) == 1) == (len(files) > 0) || len(args) > 1 {
				return term.Usagef("give placements with -f, or one as mp/NAME")
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			return runDiff(command.Context(), streams, &live, files, args, output)
		},
	}
	AddFiles(command, &files, "file or folder with placements, - for standard input; may be repeated")
	live.cluster.Add(command)
	live.cluster.Complete(command, cluster.APlacement)
	term.AddOutput(command, &output, term.Formats...)
	return command
}

func runDiff(ctx context.Context, streams term.Streams, live *liveFlags, files, args []string, output term.Format) error {
	m, err := live.toCompare(ctx, streams, files, args)
	if err != nil {
		return err
	}
	decisions, err := planAll(m, streams, false)
	if err != nil {
		return err
	}
	list := diffs{Items: []diff{}}
	moves := false
	for i := range decisions {
		if d := &decisions[i]; d.plan != nil {
			made, err := d.diff()
			if err != nil {
				return err
			}
			list.Items, moves = append(list.Items, *made), moves || made.moves()
		}
	}
	err = streams.Write(output, list, func(p *term.Page) {
		for i := range list.Items {
			p.Paragraph()
			list.Items[i].show(p)
		}
	})
	if err == nil {
		err = reportFailures(streams, decisions, output.Wide())
	}
	if err == nil && moves {
		err = term.ErrAlert
	}
	return err
}

// toCompare is the cluster with the placements of files, or with one of its own that is planned afresh.
func (f *liveFlags) toCompare(ctx context.Context, streams term.Streams, files, args []string) (*Manifests, error) {
	if len(args) == 1 {
		m, err := f.named(ctx, streams, args[0])
		if err == nil {
			m.afresh = true
		}
		return m, err
	}
	m, err := ReadManifests(files, streams)
	if err != nil {
		return nil, err
	}
	m.WarnOfIgnored(streams)
	switch {
	case len(m.Placements) == 0:
		return nil, term.Usagef("no ModelPlacement in the files: add one")
	case len(m.Inventories) > 0:
		return nil, term.Usagef("inventories in the files: a placement is compared with its plan in the cluster; leave them out, or use plan")
	}
	return m, f.join(ctx, streams, m)
}

// diffs are what would become of placements.
type diffs struct {
	Items []diff `json:"items"`
}

// diff is what would become of a placement.
type diff struct {
	Placement string `json:"placement"`
	// InForce is the plan in force; nil where none is. Planned is the plan that would be.
	InForce *diffPlan `json:"inForce,omitempty"`
	Planned diffPlan  `json:"planned"`
	// Ranks are those of both plans, in order of copy and rank.
	Ranks []rankDiff `json:"ranks"`
}

// diffPlan is what a plan takes and should deliver.
type diffPlan struct {
	Name     string              `json:"name,omitempty"`
	Strategy string              `json:"strategy"`
	Format   v1alpha1.Precision  `json:"quantization"`
	Totals   v1alpha1.PlanTotals `json:"totals"`
	Estimate *v1alpha1.Estimate  `json:"estimate,omitempty"`
}

// rankDiff is where a rank is and where it would be; empty where it is not.
type rankDiff struct {
	Copy   int32  `json:"copy"`
	Rank   int32  `json:"rank"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Change change `json:"change"`
}

// change is what becomes of a rank.
type change string

const (
	stays  change = "stays"
	shifts change = "moves"
	comes  change = "comes"
	goes   change = "goes"
)

// diff compares the plan in force with the plan that would be.
func (d *decision) diff() (*diff, error) {
	made := &diff{Placement: d.name(), Planned: planOf(&d.plan.Spec, "")}
	from := map[seatKey]string{}
	if inForce := d.standing.inForce(); inForce != nil {
		before := planOf(&inForce.Spec, inForce.Name)
		made.InForce = &before
		ranks, err := mesh.FromPlan(inForce.Name, &inForce.Spec, d.hosts)
		if err != nil {
			return nil, fmt.Errorf("plan %s: %w", inForce.Name, err)
		}
		from = seatsOf(ranks)
	}
	to := seatsOf(&d.mesh.Spec)
	for key, where := range from {
		made.Ranks = append(made.Ranks, rankDiff{key.replica, key.rank, where, to[key], changeOf(where, to[key])})
	}
	for key, where := range to {
		if _, known := from[key]; !known {
			made.Ranks = append(made.Ranks, rankDiff{key.replica, key.rank, "", where, comes})
		}
	}
	slices.SortFunc(made.Ranks, func(a, b rankDiff) int { return cmp.Or(cmp.Compare(a.Copy, b.Copy), cmp.Compare(a.Rank, b.Rank)) })
	return made, nil
}

func changeOf(from, to string) change {
	switch to {
	case from:
		return stays
	case "":
		return goes
	default:
		return shifts
	}
}

func planOf(s *v1alpha1.ShardingPlanSpec, name string) diffPlan {
	return diffPlan{Name: name, Strategy: s.Strategy.Summary, Format: s.Quantization, Totals: s.Totals, Estimate: s.Estimate}
}

// seatKey is a rank of a copy.
type seatKey struct{ replica, rank int32 }

// seatsOf are the devices of all ranks.
func seatsOf(s *v1alpha1.DeviceMeshSpec) map[seatKey]string {
	seats := map[seatKey]string{}
	for i := range s.Members {
		m := &s.Members[i]
		for n, id := range m.Devices {
			seats[seatKey{m.Replica, m.FirstRank + int32(n)}] = m.Node + "/" + string(id)
		}
	}
	return seats
}

// moves says whether a rank would be elsewhere, or would be another one.
func (d *diff) moves() bool {
	return d.count(stays) < len(d.Ranks) || d.InForce == nil || d.InForce.Strategy != d.Planned.Strategy || d.InForce.Format != d.Planned.Format
}

func (d *diff) count(c change) int {
	n := 0
	for i := range d.Ranks {
		if d.Ranks[i].Change == c {
			n++
		}
	}
	return n
}

func (d *diff) show(p *term.Page) {
	before := "no plan"
	if d.InForce != nil {
		before = d.InForce.text()
	}
	ranks := fmt.Sprintf("%d stay, %d move, %d come, %d go", d.count(stays), d.count(shifts), d.count(comes), d.count(goes))
	if !d.moves() {
		ranks = "nothing would move"
	}
	p.Sheet([][2]string{{"Placement", d.Placement}, {"In force", before}, {"Would be", d.Planned.text()}, {"Ranks", ranks}})
	if !d.moves() {
		return
	}
	p.Paragraph()
	p.Table([]string{"COPY", "RANK", "CHANGE", "IS ON", "WOULD BE ON"}, term.Rows(d.Ranks, func(r *rankDiff) []any {
		return []any{r.Copy, r.Rank, r.Change, r.From, r.To}
	}))
}

// text is a plan in one line.
func (d *diffPlan) text() string {
	text := fmt.Sprintf("%s in %s, %s of %s on %s", d.Strategy, d.Format, d.Totals.Memory, words.Counted(d.Totals.Devices, "device"), words.Counted(d.Totals.Nodes, "node"))
	if d.Name != "" {
		text = "plan " + d.Name + ": " + text
	}
	if d.Estimate != nil {
		text += ", " + moved(d.Estimate.TokensPerSecond, v1alpha1.Expected{}, 1, "tokens/s")
	}
	return text
}
