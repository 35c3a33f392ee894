package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// tag is what all dashboards have, by which they link to each other.
const tag = "rankwright"

// board is one dashboard.
type board struct {
	name, title, about string
	variables          []variable
	rows               []row
}

// variable is a choice at the top of a dashboard, of the values of a label of a metric.
type variable struct {
	name, metric, label string
	// one has the reader choose a single value.
	one bool
}

// row is a line of panels under a title.
type row struct {
	title  string
	panels []panel
}

// source is the Prometheus that the reader chose.
var source = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}

// build makes a dashboard of version 1: every Grafana reads it, and what provisions files expects it.
func (b *board) build() (dashboard.Dashboard, error) { //nolint:staticcheck // version 2 needs newer ones
	builder := dashboard.NewDashboardBuilder("Rankwright / " + b.title) //nolint:staticcheck // as above
	builder.
		Uid("rankwright-"+b.name).Description(b.about).Tags([]string{tag}).
		Time("now-6h", "now").Refresh("1m").Timezone("browser").Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("Rankwright").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{tag}).AsDropdown(true).KeepTime(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus"))
	for _, v := range b.variables {
		builder.WithVariable(v.builder())
	}
	for _, r := range b.rows {
		builder.WithRow(dashboard.NewRowBuilder(r.title))
		for _, p := range r.panels {
			builder.WithPanel(p.builder())
		}
	}
	made, err := builder.Build()
	for i, p := range made.Panels { // so that a link to a panel stays one
		id := uint32(i + 1)
		if p.RowPanel != nil {
			p.RowPanel.Id = id
		} else {
			p.Panel.Id = &id
		}
	}
	return made, err
}

func (v *variable) builder() *dashboard.QueryVariableBuilder {
	made := dashboard.NewQueryVariableBuilder(v.name).
		Query(dashboard.StringOrMap{String: cog.ToPtr("label_values(" + v.metric + ", " + v.label + ")")}).
		Datasource(source).Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc)
	if !v.one {
		made.Multi(true).IncludeAll(true).AllValue(".+")
	}
	return made
}
