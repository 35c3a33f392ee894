package ui

import (
	"context"
	"errors"
	"net/url"
	"sync"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/page"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/holding"
)

// desks has the planner's desk of the scene that was asked about last.
type desks struct {
	streams term.Streams

	mu       sync.Mutex
	measured []v1alpha1.SiteCalibration
	scene    *page.Scene
	desk     *planning.Desk
}

// wrap notes what was measured before a state is shown.
func (d *desks) wrap(show func(*holding.State, *page.Outage) error) showing {
	return func(s *holding.State, measured []v1alpha1.SiteCalibration, outage *page.Outage) error {
		d.mu.Lock()
		d.measured = measured
		d.mu.Unlock()
		return show(s, outage)
	}
}

// at is the desk of a scene.
func (d *desks) at(scene *page.Scene) *planning.Desk {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.scene != scene {
		d.scene, d.desk = scene, planning.NewDesk(scene.Snapshot, scene.State.Inventories, scene.State.Pods, d.measured, d.streams)
	}
	return d.desk
}

// plan answers a question on the fleet as it is shown.
func (d *desks) plan(_ context.Context, scene *page.Scene, query url.Values) (*page.Answer, error) {
	if !scene.State.Sees(holding.Inventories) {
		return nil, errors.New("you may not see acceleratorinventories, from which plans are made")
	}
	now := d.streams.Clock()
	desk, start := d.at(scene), now()
	made, err := desk.Ask(query)
	if err != nil {
		return nil, err
	}
	took := now().Sub(start)
	detail := page.Detailed(made.Placement, made.Plan, made.Mesh)
	if detail.Refusal != nil { // there is no placement that could be changed
		for i := range detail.Refusal.Remedies {
			detail.Refusal.Remedies[i].Command = ""
		}
	}
	return &page.Answer{Detail: detail, Micros: took.Microseconds(), Command: planning.CommandOf(query)}, nil
}
