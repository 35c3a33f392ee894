package live

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// NewTree returns the command `kubectl rankwright tree`.
func NewTree(streams term.Streams) *cobra.Command {
	var flags cluster.Flags
	var output term.Format
	command := &cobra.Command{
		Use:   "tree mp/NAME",
		Short: "See what belongs to a placement: plan, mesh, pods, devices and links",
		Long: `See what belongs to a placement as a tree: its plans, the mesh of each, the pods of the mesh, the devices of each pod
with their ranks, and the links of each kind of process groups with what verification measured.`,
		Example: `  kubectl rankwright tree mp/llama
  kubectl rankwright tree mp/llama -n team-a -o json`,
		Args: cluster.OneTarget("tree mp/NAME"),
		RunE: func(command *cobra.Command, args []string) error {
			return runTree(command.Context(), streams, &flags, output, args[0])
		},
	}
	flags.Add(command)
	flags.Complete(command, cluster.APlacement)
	term.AddOutput(command, &output, term.Formats...)
	return command
}

func runTree(ctx context.Context, streams term.Streams, flags *cluster.Flags, output term.Format, text string) error {
	named, err := cluster.ParseTarget(text, cluster.APlacement)
	if err != nil {
		return err
	}
	of, err := flags.Connect(streams)
	if err != nil {
		return err
	}
	objects, err := of.Read(ctx, streams, read...)
	if err != nil {
		return err
	}
	placement, err := objects.Placement(of.Namespace, named.Name)
	if err != nil {
		return err
	}
	root := growing(&objects.State).placement(placement)
	return streams.Write(output, root, func(p *term.Page) {
		root.print(p)
		tellUnseen(p, objects.Unseen)
	})
}

// branch is something with what belongs to it.
type branch struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Node  string `json:"node,omitempty"`
	State string `json:"state,omitempty"`
	About string `json:"about,omitempty"`
	// Branches belong to it.
	Branches []branch `json:"branches,omitempty"`
}

// twig is a line of a tree: what stands before the branch's name, and before what is folded into lines below it.
type twig struct {
	*branch

	first, below string
}

func (t *twig) name() string { return t.first + t.Kind + "/" + t.Name }

// twigs are the lines of a branch and of what belongs to it. The first one begins with first, what is below it with rest.
func (b *branch) twigs(first, rest string) []twig {
	below := rest
	if len(b.Branches) > 0 {
		below += "│"
	}
	list := []twig{{b, first, below}}
	for i := range b.Branches {
		fork, further := "├─", "│ "
		if i == len(b.Branches)-1 {
			fork, further = "└─", "  "
		}
		list = append(list, b.Branches[i].twigs(rest+fork, rest+further)...)
	}
	return list
}

// Columns of a tree on a terminal: what it says about a branch has so many at least, and the state of a branch so many at most.
const (
	leastAbout = 24
	mostState  = 20
)

// print writes the tree. Where a line is too long, what it says about the branch is folded below itself; on a terminal names and states lose what is in their
// middle where that does not do.
func (b *branch) print(p *term.Page) {
	lines := append([]twig{{&branch{Kind: "OBJECT", State: "STATE", About: "ABOUT"}, "", ""}}, b.twigs("", "")...)
	named, stated := 0, 0
	for i := range lines {
		named, stated = max(named, utf8.RuneCountInString(lines[i].name())), max(stated, utf8.RuneCountInString(lines[i].State))
	}
	const beside = 2*term.TableGap + leastAbout
	width, terminal := max(p.Columns(), named+stated+beside), p.Terminal()
	if terminal > 0 && !p.Wide && width > terminal {
		width, stated = terminal, min(stated, mostState)
		named = min(named, width-stated-beside)
	}
	room := width - named - stated - 2*term.TableGap
	for i := range lines {
		t := &lines[i]
		name, state := term.Middle(term.Printable(strings.TrimSuffix(t.name(), "/")), named), term.Middle(cmp.Or(term.Printable(t.State), "-"), stated)
		for _, about := range foldedTo(p, terminal, t.About, room) {
			line := fmt.Sprintf("%-*s%*s%-*s%*s%s", named, name, term.TableGap, "", stated, state, term.TableGap, "", term.Printable(about))
			p.Raw(strings.TrimRight(line, " "))
			name, state = t.below, ""
		}
	}
}

func foldedTo(p *term.Page, terminal int, text string, room int) []string {
	switch {
	case p.Wide:
		return []string{text}
	case terminal > 0:
		text = term.ShortWords(text, room)
	}
	return term.Fold(text, room, "")
}
