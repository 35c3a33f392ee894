package ranks

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rankwright/rankwright/api/v1alpha1"
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
		Long: `Show which ranks form which process groups. The rank is the sum of coordinate times stride, and the stride grows from the
first dimension of the order to the last: with --order tp-pp-dp, tensor-parallel ranks are neighbours.

Groups are listed for each dimension that is larger than 1 or whose flag is given, for each product asked for by --group
(tp-pp: the ranks that differ in tp and pp alone), and for the world.

With -f the devices of AcceleratorInventories get the ranks, as many as there are: consecutive ranks share the fastest links,
and the slowest link and the communication library of each kind of group are shown. Nodes in the files say which zone they are in.`,
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
			return term.Write(streams.Out, output, groups, func(w io.Writer) error { return groups.writeTo(w, output.Wide()) })
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.order, "order", "", "dimensions from the fastest to the slowest, joined by - (default: the engine's)")
	flags.StringVar(&options.engine, "engine", "", "engine whose order and expert groups to use (default vLLM's order)")
	flags.StringArrayVar(&options.products, "group", nil, "product of dimensions to list too, as tp-pp; may be repeated")
	flags.StringArrayVarP(&options.files, "filename", "f", nil, "file or folder with inventories whose devices get the ranks, - for standard input; may be repeated")
	_ = command.MarkFlagFilename("filename", "yaml", "yml", "json")
	for _, d := range dimensions {
		options.sizes[d.name] = flags.Int(d.name, 1, d.about)
	}
	term.Complete(command, "engine", engine.Names())
	term.AddOutput(command, &output)
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
		if d.Name == "ep" && o.engine != "" {
			continue
		}
		if d.Size > 1 || o.given[d.Name] {
			if err := g.add(m, d.Name); err != nil {
				return nil, err
			}
		}
	}
	if o.engine != "" && (expert > 1 || o.given["ep"]) {
		if err := g.addExperts(m, v1alpha1.Engine(o.engine), expert); err != nil {
			return nil, err
		}
	}
	for _, product := range o.products {
		if err := g.add(m, product); err != nil {
			return nil, err
		}
	}
	g.set(world, [][]int32{m.World()})
	return g, nil
}

// add lists the groups of a dimension or a product of dimensions.
func (g *meshGroups) add(m *mesh.Mesh, name string) error {
	if name == world {
		return nil
	}
	groups, err := m.Groups(strings.Split(name, "-")...)
	if err != nil {
		return term.Usagef("--group %s: %w", name, err)
	}
	g.set(name, groups)
	return nil
}

func (g *meshGroups) addExperts(m *mesh.Mesh, of v1alpha1.Engine, size int) error {
	groups, _, err := m.ExpertGroups(of, size)
	if err != nil {
		return term.Usagef("--ep %d: %w", size, err)
	}
	g.set("ep", groups)
	return nil
}

func (g *meshGroups) set(name string, groups [][]int32) {
	if _, there := g.Groups[name]; !there {
		g.names = append(g.names, name)
	}
	g.Groups[name] = groups
}

func (g *meshGroups) writeTo(w io.Writer, wide bool) error {
	if _, err := fmt.Fprintf(w, "world size %d, order %s\n\n", g.WorldSize, g.order); err != nil {
		return err
	}
	rows := make([][]string, 0, len(g.names))
	for _, name := range g.names {
		groups := g.Groups[name]
		row := []string{name, strconv.Itoa(len(groups)), strconv.Itoa(len(groups[0])), term.RanksText(groups, wide)}
		if g.Links != nil {
			row = slices.Insert(row, 3, g.Links[name].Library, g.Links[name].text())
		}
		rows = append(rows, row)
	}
	if g.Links == nil {
		return term.Table(w, []string{"GROUP", "COUNT", "SIZE", "RANKS"}, rows)
	}
	return term.Paragraphs(w, func(w io.Writer) error {
		return term.Table(w, []string{"GROUP", "COUNT", "SIZE", "LIBRARY", "SLOWEST LINK", "RANKS"}, rows)
	}, g.printMembers)
}
