package calibrate

import (
	"fmt"
	"slices"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/site"
)

// compare estimates each measurement without the site, and with what all others say.
func compare(list []v1alpha1.Measurement, now time.Time) ([]site.Row, error) {
	return site.Compare(list, now)
}

// show writes what was measured beside what is estimated, without the site and with its other measurements: a table for each service.
func show(p *term.Page, rows []site.Row, wide bool) {
	header := []string{"LOAD", "FIGURE", "MEASURED", "ESTIMATE", "OFF", "FROM THE OTHERS", "OFF"}
	if wide {
		header = append(header, "TOOL", "TIME", "FILE")
	}
	for len(rows) > 0 {
		of := service(&rows[0])
		n := slices.IndexFunc(rows, func(r site.Row) bool { return service(&r) != of })
		if n < 0 {
			n = len(rows)
		}
		p.Paragraph()
		p.Line(of)
		p.Table(header, term.Rows(rows[:n], func(r *site.Row) []any {
			row := []any{loadText(r.Measurement), r.What, number(r.Measured, r.Unit), number(r.Estimated, r.Unit), off(r.Estimated, r.Measured), "", ""}
			if r.FromOthers > 0 {
				row[5], row[6] = number(r.FromOthers, r.Unit), off(r.FromOthers, r.Measured)
			}
			if wide {
				row = append(row, r.Source.Tool, r.Source.Time.UTC().Format(time.DateTime), r.Source.File)
			}
			return row
		}))
		rows = rows[n:]
	}
}

// service names what was measured.
func service(r *site.Row) string {
	precision := ""
	if r.Weights != "" {
		precision = " in " + string(r.Weights)
	}
	return fmt.Sprintf("%s%s on %s with %s, %s:", r.Model, precision, r.Device, r.Engine, shapeText(r.Measurement))
}

func number(v float64, unit string) string {
	return words.Figure(v, 4) + " " + unit
}

// off is how far an estimate is from a measurement.
func off(estimated, measured float64) string {
	return fmt.Sprintf("%+.0f %%", 100*(estimated/measured-1))
}

// shapeText is degrees as plans have them.
func shapeText(m *v1alpha1.Measurement) string {
	text := ""
	for _, d := range []struct {
		name string
		n    *int32
	}{{"TP", m.Parallelism.Tensor}, {"PP", m.Parallelism.Pipeline}, {"DP", m.Parallelism.Data}, {"EP", m.Parallelism.Expert}} {
		if d.n != nil && (*d.n > 1 || d.name == "TP") {
			text += fmt.Sprintf(" %s%d", d.name, *d.n)
		}
	}
	if m.Replicas > 1 {
		text += fmt.Sprintf(" x%d", m.Replicas)
	}
	return text[1:]
}

func loadText(m *v1alpha1.Measurement) string {
	switch {
	case m.InputTokens == 0:
		return fmt.Sprintf("%d tokens long", m.MaxModelLen)
	case m.Concurrency > 0:
		return fmt.Sprintf("%d/%d, %d at a time", m.InputTokens, m.OutputTokens, m.Concurrency)
	default:
		return fmt.Sprintf("%d/%d, %d at once", m.InputTokens, m.OutputTokens, m.Requests)
	}
}
