package live

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/holding"
)

// NewTop returns the command `kubectl rankwright top`.
func NewTop(streams term.Streams) *cobra.Command {
	command := newView(streams, &fleetView)
	for _, view := range []*topView{&devicesView, fleetAlias(), &nodesView, &placementsView, &productsView} {
		command.AddCommand(newView(streams, view))
	}
	return command
}

// topView is what a subcommand of top shows.
type topView struct {
	use, short, long, example string
	// keys are the words of --sort-by; nil where nothing is sorted.
	keys []string
	// labels are of what -l selects by.
	labels string
	show   func(*look) (object any, page func(*term.Page), err error)
}

// fleetAlias is the view that top has without a subcommand, under a name of its own.
func fleetAlias() *topView {
	v := fleetView
	v.use = "fleet"
	return &v
}

// look is what one look at the cluster gave, and how it is to be shown.
type look struct {
	*holding.Fleet

	options *topOptions
	cluster *cluster.Cluster
	// selects is what -l selects.
	selects labels.Selector
}

// topOptions are the flags of top.
type topOptions struct {
	cluster    cluster.Flags
	output     term.Format
	sortBy     string
	selector   string
	conditions []string
	watch      bool
	interval   time.Duration
}

func newView(streams term.Streams, view *topView) *cobra.Command {
	var o topOptions
	command := &cobra.Command{
		Use: view.use, Short: view.short, Long: view.long, Example: view.example,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return term.Usagef("unknown view %q: use devices, fleet, nodes, placements or products", args[0])
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return o.run(command.Context(), streams, view) },
	}
	flags := command.Flags()
	if len(view.keys) > 0 {
		flags.StringVar(&o.sortBy, "sort-by", "", "column to sort by, as in the header in lower case with hyphens")
		term.Complete(command, "sort-by", view.keys)
	}
	flags.StringVarP(&o.selector, "selector", "l", "", "labels of "+view.labels+" that are meant, as in kubectl")
	if view == &devicesView {
		flags.StringSliceVar(&o.conditions, "state", nil, "states of the devices that are meant: "+term.Joined(holding.Conditions, ", "))
		term.Complete(command, "state", holding.Conditions)
	}
	flags.BoolVarP(&o.watch, "watch", "w", false, "show it anew whenever something changed")
	flags.DurationVar(&o.interval, "interval", time.Second, "least time between two pictures of --watch")
	o.cluster.Add(command)
	o.cluster.AddAll(command)
	term.AddOutput(command, &o.output, term.NamedFormats...)
	return command
}

// read are the kinds that top reads.
var read = cluster.Live(holding.Pods)

func (o *topOptions) run(ctx context.Context, streams term.Streams, view *topView) error {
	if o.interval <= 0 {
		return term.Usagef("--interval %v: give a time above 0", o.interval)
	}
	selects, err := labels.Parse(o.selector)
	if err != nil {
		return term.Usagef("--selector: %w", err)
	}
	if o.sortBy != "" && !slices.Contains(view.keys, o.sortBy) {
		return term.Usagef("--sort-by %s: use one of %s", o.sortBy, term.Joined(view.keys, ", "))
	}
	for _, c := range o.conditions {
		if !slices.Contains(holding.Conditions, holding.Condition(c)) {
			return term.Usagef("--state %s: use %s", c, term.Joined(holding.Conditions, ", "))
		}
	}
	of, err := o.cluster.Connect(streams)
	if err != nil {
		return err
	}
	show := func(objects *cluster.Objects) error {
		if outage := objects.Outage; outage != nil && outage.Awaited != "" {
			if o.output.Machine() {
				return nil
			}
			return streams.Write(o.output, nil, func(p *term.Page) { tellOutage(p, outage) })
		}
		l := &look{holding.Of(&objects.State), o, of, selects}
		object, page, err := view.show(l)
		if err != nil {
			return err
		}
		return streams.Write(o.output, object, func(p *term.Page) { page(p); tellUnseen(p, l.Unseen); tellOutage(p, objects.Outage) })
	}
	if !o.watch {
		objects, err := of.Read(ctx, streams, read...)
		if err != nil {
			return err
		}
		return show(objects)
	}
	return of.Follow(ctx, streams, o.interval, read, func(objects *cluster.Objects) error {
		if !o.output.Machine() {
			streams.Clear()
		}
		return show(objects)
	})
}

// tellUnseen says what was not read.
func tellUnseen(p *term.Page, list []holding.Unseen) {
	if len(list) > 0 {
		p.Paragraph()
		p.Linef("Not permitted: %s.", cluster.UnseenText(list))
	}
}

// tellOutage says that the picture is not kept up to date.
func tellOutage(p *term.Page, outage *cluster.Outage) {
	switch {
	case outage == nil:
	case outage.Awaited != "":
		p.Linef("%s. Nothing can be shown yet: %s are awaited since %s.", outage.Why, outage.Awaited, outage.Since.Local().Format(time.TimeOnly))
	default:
		p.Paragraph()
		p.Linef("%s. What you see is from %s.", outage.Why, outage.Since.Local().Format(time.TimeOnly))
	}
}

// meant are the devices that -n, -l and --state mean: those that pods and placements of a namespace hold, those of nodes with labels, and those in a state.
func (l *look) meant() []holding.Device {
	selected := map[string]bool{}
	for i := range l.Nodes {
		selected[l.Nodes[i].Name] = l.selects.Matches(labels.Set(l.Nodes[i].Labels))
	}
	return slices.DeleteFunc(slices.Clone(l.Devices), func(d holding.Device) bool {
		return !l.selects.Empty() && !selected[d.Node] || l.cluster.Named != "" && !d.In(l.cluster.Named) || !l.options.asked(d.Condition)
	})
}

// asked says whether devices in a condition are meant.
func (o *topOptions) asked(c holding.Condition) bool {
	return len(o.conditions) == 0 || slices.Contains(o.conditions, string(c))
}

// listing is the items of a list, with what was not read of them.
type listing[T any] struct {
	Items        []T              `json:"items"`
	NotPermitted []holding.Unseen `json:"notPermitted,omitempty"`

	nameOf func(*T) string
}

// Names are the items as arguments of commands.
func (l listing[T]) Names() []string {
	names := make([]string, len(l.Items))
	for i := range l.Items {
		names[i] = l.nameOf(&l.Items[i])
	}
	return names
}

// list shows rows in columns, or in narrow ones where these have no room, sorted as it was asked for.
func list[T any](l *look, columns []term.Column[T], rows []T, nameOf func(*T) string, none string, narrow ...term.Column[T]) (any, func(*term.Page), error) {
	if l.options.sortBy != "" {
		if err := term.SortBy(rows, columns, l.options.sortBy); err != nil {
			return nil, nil, err
		}
	}
	if rows == nil {
		rows = []T{}
	}
	return listing[T]{rows, l.Unseen, nameOf}, func(p *term.Page) {
		if len(rows) == 0 {
			p.Line(none)
			return
		}
		term.Fit(p, columns, rows, narrow...)
	}, nil
}
