package planning

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/sizing"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/holding"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/why"
)

// NewWhy returns the command `kubectl rankwright why`.
func NewWhy(streams term.Streams) *cobra.Command {
	var live liveFlags
	var output term.Format
	const usage = "why (mp/NAME | pod/NAME | node/NAME | device/NODE/ID)"
	command := &cobra.Command{
		Use:   usage,
		Short: "Say why something is as it is, and which command would change it",
		Long: `Say why a placement has no plan or its pods do not run, why a pod is pending, why a node takes no new work, and why a
device is out of use or who has it; and of what is well, why it is where it is. First come the cause, the command that
would change it, and the evidence; then what else was found.

Where devices are missing, the planner is asked what would be if those that are cordoned, drained, unhealthy or held by
somebody else were free: the cause is what the placement would fit without.`,
		Example: `  kubectl rankwright why pod/llama-0 -n team-a
  kubectl rankwright why mp/llama
  kubectl rankwright why device/node-1/nvidia-0000:17:00.0`,
		Args: cluster.OneTarget(usage),
		RunE: func(command *cobra.Command, args []string) error {
			return runWhy(command.Context(), streams, &live, output, args[0])
		},
	}
	live.cluster.Add(command)
	live.cluster.Complete(command, cluster.APlacement, cluster.APod, cluster.ANode, cluster.ADevice)
	term.AddOutput(command, &output, term.Formats...)
	return command
}

// readForWhy are the kinds that causes are looked for in.
var readForWhy = cluster.Live(holding.Pods, cluster.Calibrations, cluster.Claims, cluster.Slices, cluster.Warnings)

func runWhy(ctx context.Context, streams term.Streams, live *liveFlags, output term.Format, text string) error {
	target, err := cluster.ParseTarget(text, cluster.APlacement, cluster.APod, cluster.ANode, cluster.ADevice)
	if err != nil {
		return err
	}
	of, err := live.cluster.Connect(streams)
	if err != nil {
		return err
	}
	objects, err := of.Read(ctx, streams, readForWhy...)
	if err != nil {
		return err
	}
	answer, err := answerers[target.Kind](&asker{ctx, streams, of, objects, caseOf(objects)}, target)
	if err != nil {
		return err
	}
	return streams.Write(output, answer, func(p *term.Page) {
		showAnswer(p, answer)
		if len(objects.Unseen) > 0 {
			p.Paragraph()
			p.Linef("Not permitted: %s.", cluster.UnseenText(objects.Unseen))
		}
	})
}

func caseOf(o *cluster.Objects) *why.Case {
	return &why.Case{State: &o.State, Claims: o.Claims, Slices: o.Slices, Warnings: o.Warnings}
}

// asker finds what is asked about, and what its answer rests on.
type asker struct {
	ctx     context.Context
	streams term.Streams
	cluster *cluster.Cluster
	objects *cluster.Objects
	known   *why.Case
}

var answerers = map[string]func(*asker, cluster.Target) (*why.Answer, error){
	cluster.APlacement: (*asker).placement, cluster.APod: (*asker).pod, cluster.ANode: (*asker).node, cluster.ADevice: (*asker).device,
}

func (a *asker) placement(t cluster.Target) (*why.Answer, error) {
	p, err := a.objects.Placement(a.cluster.Namespace, t.Name)
	if err != nil {
		return nil, err
	}
	a.known.Fits = a.fits(p)
	answer := why.OfPlacement(a.known, p)
	return &answer, nil
}

func (a *asker) pod(t cluster.Target) (*why.Answer, error) {
	pod, err := a.cluster.Pod(a.ctx, a.cluster.Namespace, t.Name)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(a.objects.Placements, func(p v1alpha1.ModelPlacement) bool {
		return p.Namespace == pod.Namespace && p.Name == pod.Labels[v1alpha1.LabelPlacement]
	})
	if at >= 0 {
		a.known.Fits = a.fits(&a.objects.Placements[at])
	}
	answer := why.OfPod(a.known, pod)
	return &answer, nil
}

func (a *asker) node(t cluster.Target) (*why.Answer, error) {
	named := func(name string) bool { return name == t.Name }
	if !slices.ContainsFunc(a.objects.Nodes, func(n corev1.Node) bool { return named(n.Name) }) &&
		!slices.ContainsFunc(a.objects.Inventories, func(i v1alpha1.AcceleratorInventory) bool { return named(i.Name) }) {
		var names []string
		for i := range a.objects.Nodes {
			names = append(names, a.objects.Nodes[i].Name)
		}
		err := fmt.Errorf("there is no node %s%s", t.Name, cluster.Hint(t.Name, names, "kubectl get nodes lists them"))
		return nil, errors.Join(err, a.objects.Permitted(holding.Nodes, holding.Inventories))
	}
	answer := why.OfNode(a.known, t.Name)
	return &answer, nil
}

func (a *asker) device(t cluster.Target) (*why.Answer, error) {
	d := a.known.Device(t.Node, v1alpha1.DeviceID(t.Name))
	if d == nil {
		err := fmt.Errorf("no node, or more than one, has a device %s: kubectl rankwright top devices lists them", t.Name)
		return nil, errors.Join(err, a.objects.Permitted(holding.Inventories))
	}
	answer := why.OfDevice(a.known, d)
	return &answer, nil
}

// fits asks the planner for a placement in other clusters; nil where what a plan rests on is not seen, or the model is not known.
func (a *asker) fits(p *v1alpha1.ModelPlacement) func(*v1alpha1.ModelPlacement, fleet.State) bool {
	m := &Manifests{Placements: []v1alpha1.ModelPlacement{*p.DeepCopy()}}
	if a.objects.Permitted(essential...) != nil || m.readModels(a.ctx, a.cluster) != nil {
		return nil
	}
	m.on(a.objects)
	if m.readUsage(a.ctx, a.streams, a.cluster) != nil {
		return nil
	}
	m.site = sizing.SiteOf(m.Calibrations, a.streams)
	resolved, err := resolveModel(&m.Placements[0], m)
	if err != nil {
		return nil
	}
	var index fleet.Follower // most of a cluster is the same in the next
	progress, asked := a.streams.Progress(), 0
	return func(other *v1alpha1.ModelPlacement, in fleet.State) bool {
		asked++
		return progress.While(func() error {
			d := &decision{placement: other.DeepCopy()}
			d.standing = m.standingOf(d.placement)
			now := index.Follow(in)
			_, err := plan.Within(a.ctx, now.Cluster(d.placement.UID, d.standing.own, d.standing.shuns), d.request(now, m, resolved))
			return err
		}, fmt.Sprintf("the planner is asked what would be if something were otherwise, question %d", asked)) == nil
	}
}

// showAnswer prints the cause, the command that would change it and the evidence in the first lines, then the rest.
func showAnswer(p *term.Page, a *why.Answer) {
	answerLine(p, "Cause:", a.Cause)
	if len(a.Commands) > 0 {
		p.Raw(fmt.Sprintf("%-*s%s", answerIndent, "Try:", term.Printable(a.Commands[0]))) // not folded, so that it can be copied
	}
	for i, text := range a.Evidence {
		name := "Seen:"
		if i > 0 {
			name = ""
		}
		answerLine(p, name, text)
	}
	if len(a.Commands) > 1 {
		p.Paragraph()
		p.Line("Or try:")
		for _, command := range a.Commands[1:] {
			p.Raw(fmt.Sprintf("%*s%s", answerIndent, "", term.Printable(command)))
		}
	}
}

// answerIndent is where the texts of an answer begin.
const answerIndent = 9

// answerLine prints a text of an answer behind its name, folded into lines below each other.
func answerLine(p *term.Page, name, text string) {
	folded := []string{term.Printable(text)}
	if !p.Wide {
		folded = term.Fold(folded[0], p.Columns()-answerIndent, "")
	}
	for _, line := range folded {
		p.Raw(fmt.Sprintf("%-*s%s", answerIndent, name, line))
		name = ""
	}
}
