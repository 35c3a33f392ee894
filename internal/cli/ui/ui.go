package ui

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/page"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/model"
)

// options are the flags of ui.
type options struct {
	cluster  cluster.Flags
	files    []string
	shapes   []string
	occupied string
	open     bool
}

// New returns the command `kubectl rankwright ui`.
func New(streams term.Streams) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "ui",
		Short: "See the fleet and its placements on a page in the browser",
		Long: `Serve a page that shows the fleet, live: every node with its devices as they are arranged, who holds them, and what is
free; each placement with its stages, ranks, memory and links, or why it has no plan; and what the fleet would give for
a model that somebody asks about.

The page is read only. It is served on this machine alone, at a random port, under an address that nobody can guess,
with the rights that the user has in the cluster; it asks nothing of anybody else. What these rights do not allow is
named as not permitted, and devices that somebody unseen might hold are unknown, never free. It ends with Ctrl-C.

With -f or --shape no cluster is contacted: the page shows the objects of files, or a fleet that does not exist.
Placements of the files that have no plan there are planned.`,
		Example: `  # The cluster of the context
  kubectl rankwright ui

  # What somebody saved of a cluster
  kubectl get accinv,nodes,mp,splan,dmesh,leases -A -o yaml > saved.yaml; kubectl rankwright ui -f saved.yaml

  # A fleet to think about
  kubectl rankwright ui --shape h100x8=100 --shape mi300x8=20 --occupied 40%`,
		Args: term.Arguments(0, "ui takes flags only"),
		RunE: func(command *cobra.Command, _ []string) error { return o.run(command.Context(), streams) },
	}
	planning.AddFiles(command, &o.files, "file or folder with manifests instead of a cluster, - for standard input; may be repeated")
	flags := command.Flags()
	flags.StringArrayVar(&o.shapes, "shape", nil, "nodes that do not exist instead of a cluster, as `SHAPE=NODES`; may be repeated (see simulate)")
	flags.StringVar(&o.occupied, "occupied", "0%", "share of each shape's devices that pods hold")
	flags.BoolVar(&o.open, "open", streams.Terminal, "open the page in the browser")
	o.cluster.Add(command)
	return command
}

// garbagePercent is how much garbage there may be beside what is in use.
const garbagePercent = 50

// period is the least time between two changes that the page is sent.
const period = 500 * time.Millisecond

func (o *options) run(ctx context.Context, streams term.Streams) error {
	from, err := o.source(streams)
	if err != nil {
		return err
	}
	listener, err := page.Listen(ctx)
	if err != nil {
		return fmt.Errorf("open a port of this machine: %w", err)
	}
	token, stage := page.NewToken(), page.NewStage(from.about)
	address := page.Address(listener, token)
	_, _ = fmt.Fprintf(streams.Out, "The page is at %s\nIt is served until Ctrl-C.\n", address)
	if o.open {
		if err := open(ctx, address); err != nil {
			_, _ = fmt.Fprintf(streams.Err, "warning: no browser was opened: %v\n", err)
		}
	}
	// What changes is read again and again into a heap that is mostly the fleet: half as much garbage as there are facts is enough.
	defer debug.SetGCPercent(debug.SetGCPercent(garbagePercent))
	desk := &desks{streams: streams}
	site := page.Site{Stage: stage, Plan: desk.plan, Models: model.Names(), Period: period, After: streams.Later()}
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return site.Serve(ctx, listener, token) })
	running.Go(func() error { return from.follow(ctx, desk.wrap(stage.Show)) })
	return running.Wait()
}

// openers are the programs that open an address, by operating system.
var openers = map[string][]string{
	"linux": {"xdg-open"}, "darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"},
}

// open opens an address in the user's browser.
func open(ctx context.Context, address string) error {
	program, known := openers[runtime.GOOS]
	if !known {
		return fmt.Errorf("it is not known how on %s", runtime.GOOS)
	}
	command := exec.CommandContext(ctx, program[0], append(slices.Clone(program[1:]), address)...)
	if err := command.Start(); err != nil {
		return err
	}
	go func() { _ = command.Wait() }()
	return nil
}

// describe is the source in words.
func (o *options) describe() page.Source {
	var names []string
	for _, file := range o.files {
		names = append(names, filepath.Base(file))
	}
	if len(o.shapes) > 0 {
		return page.Source{Kind: page.Simulated, Name: strings.Join(slices.Concat(o.shapes, names), ", ")}
	}
	return page.Source{Kind: page.Files, Name: strings.Join(names, ", ")}
}
