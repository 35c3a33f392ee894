package ui

import (
	"context"
	"errors"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/page"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/holding"
)

// source is where states come from: follow shows each until the context ends.
type source struct {
	about  page.Source
	follow func(ctx context.Context, show showing) error
}

// showing shows a state with what was measured at the site, and since when it is not kept up to date.
type showing func(*holding.State, []v1alpha1.SiteCalibration, *page.Outage) error

// source is what the flags mean.
func (o *options) source(streams term.Streams) (*source, error) {
	if len(o.files)+len(o.shapes) > 0 {
		return o.still(streams)
	}
	if o.occupied != "0%" {
		return nil, term.Usagef("--occupied %s is of --shape: give that", o.occupied)
	}
	of, err := o.cluster.Connect(streams)
	if err != nil {
		return nil, err
	}
	return &source{page.Source{Kind: page.Cluster, Name: of.Name()}, func(ctx context.Context, show showing) error {
		return of.Follow(ctx, streams, period, cluster.Live(holding.Pods, cluster.Calibrations), func(seen *cluster.Objects) error {
			return show(&seen.State, seen.Calibrations, (*page.Outage)(seen.Outage))
		})
	}}, nil
}

// still is a state that does not change.
func (o *options) still(streams term.Streams) (*source, error) {
	read, err := planning.ReadManifests(o.files, streams)
	if err != nil {
		return nil, err
	}
	read.WarnOfIgnored(streams)
	if len(o.shapes) > 0 {
		if err := read.Simulate(o.shapes, o.occupied); err != nil {
			return nil, err
		}
	}
	if len(read.Inventories) == 0 {
		return nil, errors.New("no AcceleratorInventory in the files: add one, as detect -o yaml prints it, or give --shape")
	}
	state, err := read.State(streams)
	if err != nil {
		return nil, err
	}
	return &source{o.describe(), func(ctx context.Context, show showing) error {
		if err := show(state, read.Calibrations, nil); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}}, nil
}
