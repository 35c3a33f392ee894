package planning

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
)

// Print writes the placements, what is left of each product, and the summary.
func (r *SimulationReport) Print(p *term.Page, wide bool) {
	r.printPlacements(p, wide)
	p.Paragraph()
	r.printProducts(p)
	p.Paragraph()
	p.Sheet(r.summary())
}

func (r *SimulationReport) printPlacements(p *term.Page, wide bool) {
	header := []string{"PLACEMENT", "STRATEGY", "DEVICES", "NODES", "MEMORY", "ESTIMATE", "TIME"}
	if wide {
		header = append(header, "WEIGHTS", "PRODUCTS", "ON")
	}
	p.Table(header, term.Rows(r.groups(), func(g *placementGroup) []any {
		name, estimate := g.Placement, ""
		if g.times > 1 {
			name += fmt.Sprintf(" (x%d)", g.times)
		}
		if g.TokensPerSecond > 0 {
			estimate = term.Grouped(g.TokensPerSecond) + " tokens/s"
		}
		row := []any{name, g.Strategy, g.Devices, g.Nodes, words.HumanBytes(g.MemoryBytes), estimate, micros(g.PlanMicros)}
		if wide {
			row = append(row, g.Quantization, productsText(g.Products), nodesText(g.On))
		}
		return row
	}))
}

func productsText(products map[string]int) string {
	parts := make([]string, 0, len(products))
	for _, name := range slices.Sorted(maps.Keys(products)) {
		parts = append(parts, fmt.Sprintf("%dx %s", products[name], name))
	}
	return strings.Join(parts, ", ")
}

// maxNodesShown keeps a placement on many nodes from filling the screen.
const maxNodesShown = 4

func nodesText(nodes []string) string {
	if more := len(nodes) - maxNodesShown; more > 0 {
		return strings.Join(nodes[:maxNodesShown], ",") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(nodes, ",")
}

func (r *SimulationReport) printProducts(p *term.Page) {
	header := []string{"PRODUCT", "NODES", "DEVICES", "FREE", "LEFT"}
	if r.TensorGroup > 1 {
		header = append(header, fmt.Sprintf("FREE BELOW TP%d", r.TensorGroup), fmt.Sprintf("LEFT BELOW TP%d", r.TensorGroup))
	}
	p.Table(header, term.Rows(r.Products, func(s *ProductStock) []any {
		row := []any{s.Product, s.Nodes, s.Devices, s.FreeBefore, s.FreeAfter}
		if r.TensorGroup > 1 {
			row = append(row, share(s.StrandedBefore, s.FreeBefore), share(s.StrandedAfter, s.FreeAfter))
		}
		return row
	}))
}

// share is a part of a whole in percent; nothing where there is no whole.
func share(part, whole int) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

func (r *SimulationReport) summary() [][2]string {
	planned, full := len(r.Placements), r.Full != ""
	count := strconv.Itoa(planned)
	if !full && planned < r.Asked {
		count = fmt.Sprintf("%d of %d", planned, r.Asked)
	}
	return [][2]string{
		{"Cluster", r.Cluster.title()},
		{"Index", micros(r.Times.IndexMicros)},
		term.RowIf(planned > 0, "Plans", fmt.Sprintf("%s, median %s, worst %s", count, micros(r.Times.PlanMedianMicros), micros(r.Times.PlanWorstMicros))),
		term.RowIf(r.Times.RefusalMicros > 0, "Refusal", micros(r.Times.RefusalMicros)),
		term.RowIf(full, "Fits", words.Counted(planned, "time")),
		term.RowIf(full, "Full", r.Full),
	}
}
