package planning

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
)

// Print prints the placements, what is left of each product, and the summary.
func (r *SimulationReport) Print(w io.Writer, wide bool) error {
	var parts []func(io.Writer) error
	if len(r.Placements) > 0 {
		parts = append(parts, func(w io.Writer) error { return r.printPlacements(w, wide) })
	}
	parts = append(parts, r.printProducts, func(w io.Writer) error { return term.Sheet(w, r.summary()) })
	return term.Paragraphs(w, parts...)
}

func (r *SimulationReport) printPlacements(w io.Writer, wide bool) error {
	header := []string{"PLACEMENT", "STRATEGY", "DEVICES", "NODES", "MEMORY", "ESTIMATE", "TIME"}
	if wide {
		header = append(header, "WEIGHTS", "PRODUCTS", "ON")
	}
	groups := r.groups()
	rows := make([][]string, len(groups))
	for i := range groups {
		g := &groups[i]
		name, estimate := g.Placement, ""
		if g.times > 1 {
			name += fmt.Sprintf(" (x%d)", g.times)
		}
		if g.TokensPerSecond > 0 {
			estimate = term.Grouped(g.TokensPerSecond) + " tokens/s"
		}
		rows[i] = []string{
			name, g.Strategy, strconv.Itoa(int(g.Devices)), strconv.Itoa(int(g.Nodes)), words.HumanBytes(g.MemoryBytes), estimate, micros(g.PlanMicros),
		}
		if wide {
			rows[i] = append(rows[i], string(g.Quantization), productsText(g.Products), nodesText(g.On))
		}
	}
	return term.Table(w, header, rows)
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

func (r *SimulationReport) printProducts(w io.Writer) error {
	header := []string{"PRODUCT", "NODES", "DEVICES", "FREE", "LEFT"}
	if r.TensorGroup > 1 {
		header = append(header, fmt.Sprintf("FREE BELOW TP%d", r.TensorGroup), fmt.Sprintf("LEFT BELOW TP%d", r.TensorGroup))
	}
	rows := make([][]string, len(r.Products))
	for i := range r.Products {
		p := &r.Products[i]
		rows[i] = []string{p.Product, strconv.Itoa(p.Nodes), strconv.Itoa(p.Devices), strconv.Itoa(p.FreeBefore), strconv.Itoa(p.FreeAfter)}
		if r.TensorGroup > 1 {
			rows[i] = append(rows[i], share(p.StrandedBefore, p.FreeBefore), share(p.StrandedAfter, p.FreeAfter))
		}
	}
	return term.Table(w, header, rows)
}

// share is a part of a whole in percent; nothing where there is no whole.
func share(part, whole int) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

func (r *SimulationReport) summary() [][2]string {
	rows := [][2]string{{"Cluster", r.Cluster.title()}, {"Index", micros(r.Times.IndexMicros)}}
	planned := len(r.Placements)
	count := strconv.Itoa(planned)
	if r.Full == "" && planned < r.Asked {
		count = fmt.Sprintf("%d of %d", planned, r.Asked)
	}
	if planned > 0 {
		rows = append(rows, [2]string{"Plans", fmt.Sprintf("%s, median %s, worst %s", count, micros(r.Times.PlanMedianMicros), micros(r.Times.PlanWorstMicros))})
	}
	if r.Times.RefusalMicros > 0 {
		rows = append(rows, [2]string{"Refusal", micros(r.Times.RefusalMicros)})
	}
	if r.Full != "" {
		rows = append(rows, [2]string{"Fits", words.Counted(planned, "time")}, [2]string{"Full", r.Full})
	}
	return rows
}
