package ranks

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// dimensions are the dimensions of a mesh that have a flag, with what the flag says.
var dimensions = []struct{ name, about string }{
	{"tp", "tensor-parallel size: devices that share each layer"},
	{"pp", "pipeline-parallel size: stages"},
	{"dp", "data-parallel size: copies that share a process group"},
	{"cp", "context-parallel size: devices that share each sequence"},
	{"ep", "expert-parallel size: with an engine, formed from the other dimensions' ranks as it does; else a dimension of --order"},
}

// world is the name of the group of all ranks.
const world = "world"

// meshOptions are the flags of mesh.
type meshOptions struct {
	order, engine string
	sizes         map[string]*int
	products      []string
	files         []string
	// given are the dimensions whose flag was set.
	given map[string]bool
}

// NewMesh returns the command `kubectl rankwright mesh`.
func NewMesh(streams term.Streams) *cobra.Command {
	options := meshOptions{sizes: map[string]*int{}, given: map[string]bool{}}
	var output term.Format
	command := &cobra.Command{
		Use:   "mesh [--order ORDER | --engine ENGINE] [--tp N] [--pp N] [--dp N] [--cp N] [--ep N]",
		Short: "Show which ranks form which process groups",
		Long: `Show which ranks form which process groups. The rank is the sum of coordinate times stride, and the stride grows from
the first dimension of the order to the last: with --order tp-pp-dp, tensor-parallel ranks are neighbours.

Groups are listed for each dimension that is larger than 1 or whose flag is given, for each product asked for by --group
(tp-pp: the ranks that differ in tp and pp alone), and for the world.

With -f the devices of AcceleratorInventories get the ranks, as many as there are: consecutive ranks share the fastest
links, and the slowest link and the communication library of each kind of group are shown. Nodes in the files say which
zone they are in.`,
		Example: `  kubectl rankwright mesh --order tp-cp-ep-dp-pp --tp 2 --pp 2 --dp 2
  kubectl rankwright mesh --engine vLLM --tp 4 --pp 2 --group tp-pp -o json
  kubectl rankwright mesh --engine Megatron --tp 2 --dp 8 --ep 4

  # Which links would groups of 8 and copies of 2 stages use?
  kubectl get accinv,nodes -o yaml | kubectl rankwright mesh -f - --tp 8 --pp 2`,
		Args: term.Arguments(0, "mesh takes flags only"),
		RunE: func(c *cobra.Command, _ []string) error {
			c.Flags().Visit(func(f *pflag.Flag) { options.given[f.Name] = true })
			groups, err := options.groups()
			if err != nil {
				return err
			}
			if len(options.files) > 0 {
				if err := groups.seat(streams, options.files, options.engine); err != nil {
					return err
				}
			}
			return streams.Write(output, groups, func(p *term.Page) { groups.show(p, output.Wide()) })
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.order, "order", "", "dimensions from the fastest to the slowest, joined by - (default: the engine's)")
	flags.StringVar(&options.engine, "engine", "", "engine whose order and expert groups to use (default vLLM's order)")
	flags.StringArrayVar(&options.products, "group", nil, "product of dimensions to list too, as tp-pp; may be repeated")
	planning.AddFiles(command, &options.files, "file or folder with inventories whose devices get the ranks, - for standard input; may be repeated")
	for _, d := range dimensions {
		options.sizes[d.name] = flags.Int(d.name, 1, d.about)
	}
	term.Complete(command, "engine", engine.Names())
	term.AddOutput(command, &output, term.Formats...)
	return command
}

// meshGroups is what is shown of a mesh.
type meshGroups struct {
	WorldSize int                  `json:"worldSize"`
	Groups    map[string][][]int32 `json:"groups"`
	// Members and Links are set where the devices are known.
	Members []meshMember             `json:"members,omitempty"`
	Links   map[string]meshGroupLink `json:"links,omitempty"`

	order string
	mesh  *mesh.Mesh
	names []string // in the order of printing
}

func (o *meshOptions) groups() (*meshGroups, error) {
	of, err := engine.Find(v1alpha1.Engine(o.engine))
	if err != nil {
		return nil, term.Usagef("--engine: %w", err)
	}
	order := cmp.Or(o.order, of.Ranks.OrderFor(*o.sizes["cp"]))
	sizes := map[string]int{}
	for name, size := range o.sizes {
		sizes[name] = *size
	}
	expert := sizes["ep"]
	if o.engine != "" {
		// Engines have no expert dimension: expert groups are made of ranks that the other dimensions have.
		sizes["ep"] = 1
	}
	m, err := mesh.New(order, sizes)
	if err != nil {
		return nil, term.Usagef("%w", err)
	}
	g := &meshGroups{WorldSize: m.WorldSize(), Groups: map[string][][]int32{}, order: order, mesh: m}
	for _, d := range m.Dimensions() {
		if (d.Size > 1 || o.given[d.Name]) && (d.Name != "ep" || o.engine == "") {
			if err := g.add(d.Name); err != nil {
				return nil, err
			}
		}
	}
	if o.engine != "" && (expert > 1 || o.given["ep"]) {
		groups, _, err := m.ExpertGroups(of.Name, expert)
		if err != nil {
			return nil, term.Usagef("--ep %d: %w", expert, err)
		}
		g.set("ep", groups)
	}
	for _, product := range o.products {
		if err := g.add(product); err != nil {
			return nil, err
		}
	}
	g.set(world, [][]int32{m.World()})
	return g, nil
}

// add lists the groups of a dimension or a product of dimensions.
func (g *meshGroups) add(name string) error {
	if name == world {
		return nil
	}
	groups, err := g.mesh.Groups(strings.Split(name, "-")...)
	if err != nil {
		return term.Usagef("--group %s: %w", name, err)
	}
	g.set(name, groups)
	return nil
}

func (g *meshGroups) set(name string, groups [][]int32) {
	if _, there := g.Groups[name]; !there {
		g.names = append(g.names, name)
	}
	g.Groups[name] = groups
}

func (g *meshGroups) show(p *term.Page, wide bool) {
	p.Linef("world size %d, order %s", g.WorldSize, g.order)
	header := []string{"GROUP", "COUNT", "SIZE", "RANKS"}
	if g.Links != nil {
		header = slices.Insert(header, 3, "LIBRARY", "SLOWEST LINK")
	}
	p.Paragraph()
	p.Table(header, term.Rows(g.names, func(name *string) []any {
		groups := g.Groups[*name]
		row := []any{*name, len(groups), len(groups[0]), term.RanksText(groups, wide)}
		if g.Links != nil {
			row = slices.Insert[[]any, any](row, 3, g.Links[*name].Library, g.Links[*name].text())
		}
		return row
	}))
	p.Paragraph()
	p.Table([]string{"RANK", "NODE", "LOCAL", "DEVICE"}, term.Rows(g.Members, func(m *meshMember) []any {
		return []any{m.Rank, m.Node, m.LocalRank, m.Device}
	}))
}
