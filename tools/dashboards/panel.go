package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// kind is how a panel shows what its queries answer.
type kind int

// A number that is true now, lines over time, or a line for each series that is there now.
const (
	number kind = iota
	lines
	list
)

// panel is one picture of a dashboard. title is the question that it answers, about what one has to know to read it.
type panel struct {
	kind         kind
	title, about string
	// unit is one of Grafana's.
	unit string
	// width is of 24; 0 takes what suits the kind.
	width   uint32
	queries []query
	// value is the name of the column with the value; a list without one shows labels alone.
	value string
}

// query is an expression of PromQL. legend names its series by {{label}}.
type query struct{ expr, legend string }

// builder makes the panel of its kind.
func (p *panel) builder() cog.Builder[dashboard.Panel] {
	switch p.kind {
	case number:
		made := stat.NewPanelBuilder().Title(p.title).Description(p.about).Datasource(source).Unit(p.unit).Span(p.span(4)).Height(4).
			GraphMode(common.BigValueGraphModeArea).ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
		for i, q := range p.queries {
			made.WithTarget(q.builder(i).Range())
		}
		return made
	case list:
		made := table.NewPanelBuilder().Title(p.title).Description(p.about).Datasource(source).Span(p.span(24)).Height(8).Filterable(true).
			WithTransformation(p.columns())
		if p.value != "" {
			made.OverrideByName(p.value, []dashboard.DynamicConfigValue{{Id: "unit", Value: p.unit}})
		}
		for i, q := range p.queries {
			made.WithTarget(q.builder(i).Instant().Format(prometheus.PromQueryFormatTable))
		}
		return made
	default:
		made := timeseries.NewPanelBuilder().Title(p.title).Description(p.about).Datasource(source).Unit(p.unit).Span(p.span(12)).Height(8).
			FillOpacity(10).ShowPoints(common.VisibilityModeNever).
			Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
		for i, q := range p.queries {
			made.WithTarget(q.builder(i).Range())
		}
		return made
	}
}

func (p *panel) span(otherwise uint32) uint32 {
	if p.width > 0 {
		return p.width
	}
	return otherwise
}

// columns leaves out of a table what every row has, and names the value.
func (p *panel) columns() dashboard.DataTransformerConfig {
	hidden := map[string]bool{"Time": true, "__name__": true}
	renamed := map[string]string{}
	if p.value == "" {
		hidden["Value"] = true
	} else {
		renamed["Value"] = p.value
	}
	return dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{"excludeByName": hidden, "renameByName": renamed}}
}

// builder is the i-th query of a panel.
func (q *query) builder(i int) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().RefId(string(rune('A' + i))).Expr(q.expr).LegendFormat(q.legend).Datasource(source)
}
