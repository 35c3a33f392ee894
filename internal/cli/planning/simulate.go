package planning

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

const simulateLong = `Build a cluster that does not exist, plan placements on it one after the other until one does not fit, and print what
each takes, how long it took to plan, and what is left. Nothing is read from a cluster.

A shape is a kind of node, given with a share of --nodes (h100x8=60%%), a number of nodes (h100x8=12), or alone for what
the others leave. Shapes:
%SHAPES%

Some devices can be held by pods already: --occupied of each shape's, in a pattern: islands (whole link domains or
hosts), scattered (single devices anywhere), fragments (runs of 1, 2 and 4 on a node). The same flags give the same
cluster.

Placements come from files, or from --model and the flags beside it. FREE is what they found, LEFT what they left. Where
tensor groups were planned, the last two columns are the shares of those that lie on islands with too few of them for
the widest group: free, but of no use to it.`

// simulateFlags are the flags of simulate as they were given.
type simulateFlags struct {
	cluster    clusterFlags
	placements []string
	model      askFlags
	untilFull  bool
	folder     string
	output     term.Format
}

// clusterFlags say which cluster to build.
type clusterFlags struct {
	nodes             int
	shapes            []string
	occupied, pattern string
	seed              uint64
	failed            int
	added, removed    []string
}

// NewSimulate returns the command `kubectl rankwright simulate`.
func NewSimulate(streams term.Streams) *cobra.Command {
	var flags simulateFlags
	command := &cobra.Command{
		Use:   "simulate --shape SHAPE[=SHARE]...",
		Short: "Plan placements on a cluster that does not exist",
		Long:  strings.NewReplacer("%SHAPES%", strings.Join(term.Fold(strings.Join(synthetic.Names(), ", ")+".", term.LineWidth, ""), "\n"), "%%", "%").Replace(simulateLong),
		Example: `  # How long do plans take at ten thousand nodes, half of whose devices are in use?
  kubectl rankwright simulate --nodes 10000 --shape h100x8=60% --shape mi300x8=20% --shape l40sx4 \
    --occupied 50% --pattern fragments --model Llama-3.1-70B --replicas 8

  # How many copies fit, and how many would fit with two more nodes?
  kubectl rankwright simulate --shape h100x8=20 --occupied 50% --model Llama-3.1-70B --until-full
  kubectl rankwright simulate --shape h100x8=20 --occupied 50% --model Llama-3.1-70B --until-full --add h100x8=2

  # Write the cluster down and plan on it
  kubectl rankwright simulate --shape gb200x4=36 --write ./racks
  kubectl rankwright plan -f ./racks -f placement.yaml`,
		Args: term.Arguments(0, "simulate takes flags only"),
		RunE: func(command *cobra.Command, _ []string) error {
			return runSimulate(command.Context(), streams, &flags, command.Flags().Changed)
		},
	}
	flags.cluster.add(command)
	flags.model.add(command, ", instead of --placement")
	f := command.Flags()
	f.StringArrayVar(&flags.placements, "placement", nil, "file or folder with ModelPlacements, - for standard input; may be repeated")
	_ = command.MarkFlagFilename("placement", manifestEndings...)
	f.BoolVar(&flags.untilFull, "until-full", false, "place the one placement again and again, and count how often it fits")
	f.StringVar(&flags.folder, "write", "", "new or empty folder to write the cluster to, a file a node, as plan -f reads it")
	_ = command.MarkFlagDirname("write")
	term.AddOutput(command, &flags.output, term.Formats...)
	return command
}

func (c *clusterFlags) add(command *cobra.Command) {
	f := command.Flags()
	f.IntVar(&c.nodes, "nodes", 0, "number of nodes; may be left out where every shape has a number")
	f.StringArrayVar(&c.shapes, "shape", nil, "shape with its share or number of nodes; may be repeated")
	f.StringVar(&c.occupied, "occupied", "0%", "share of each shape's devices that pods hold")
	f.StringVar(&c.pattern, "pattern", string(synthetic.Fragments), "how held devices lie: islands, scattered or fragments")
	f.Uint64Var(&c.seed, "seed", 1, "seed of which devices are held and which nodes fail")
	f.IntVar(&c.failed, "fail-nodes", 0, "number of nodes that take no new work")
	f.StringArrayVar(&c.added, "add", nil, "what if there were more: shape with a number of free nodes (h100x8=2); may be repeated")
	f.StringArrayVar(&c.removed, "remove", nil, "what if there were less: shape with a number of nodes (l40sx4=1), which go with what runs there; may be repeated")
	term.Complete(command, "pattern", synthetic.Patterns())
	for _, flag := range []string{"shape", "add", "remove"} {
		term.Complete(command, flag, synthetic.Names())
	}
}

func runSimulate(ctx context.Context, streams term.Streams, flags *simulateFlags, changed func(string) bool) error {
	spec, err := flags.cluster.spec()
	if err != nil {
		return err
	}
	asked, err := flags.asked(streams, changed)
	if err != nil {
		return err
	}
	nodes, err := synthetic.Build(spec)
	if err != nil {
		return term.Usagef("cluster: %w", err)
	}
	s := simulation{now: streams.Clock(), progress: streams.Progress(), asked: asked, untilFull: flags.untilFull}
	if flags.folder != "" {
		if err := writeNodes(ctx, flags.folder, nodes, s.progress); err != nil {
			return err
		}
	}
	report, failed, err := s.run(ctx, nodes)
	if err != nil {
		return err
	}
	report.Cluster = describe(&flags.cluster, &spec, len(nodes))
	err = streams.Write(flags.output, report, func(p *term.Page) { report.Print(p, flags.output.Wide()) })
	if err != nil || failed == nil {
		return err
	}
	return reportFailures(streams, []decision{*failed}, flags.output.Wide())
}
