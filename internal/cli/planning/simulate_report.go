package planning

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
)

// SimulationReport is what simulate prints.
type SimulationReport struct {
	Cluster SimulatedCluster `json:"cluster"`
	// Asked is the number of placements that were given, and Placements lists the placements that have devices.
	Asked      int                  `json:"asked"`
	Placements []SimulatedPlacement `json:"placements"`
	Products   []ProductStock       `json:"products"`
	// TensorGroup is the widest tensor group of the plans, which Products' stranded counts are about; 0 without a plan.
	TensorGroup int            `json:"tensorGroup"`
	Times       SimulatedTimes `json:"times"`
	// Full says why no further copy fits; only with --until-full.
	Full string `json:"full,omitempty"`
}

// SimulatedCluster is the cluster as it was asked for.
type SimulatedCluster struct {
	Nodes       int      `json:"nodes"`
	FailedNodes int      `json:"failedNodes"`
	Occupied    string   `json:"occupied"`
	Pattern     string   `json:"pattern"`
	Seed        uint64   `json:"seed"`
	Added       []string `json:"added,omitempty"`
	Removed     []string `json:"removed,omitempty"`
}

// SimulatedPlacement is a placement that has devices.
type SimulatedPlacement struct {
	Placement       string             `json:"placement"`
	Strategy        string             `json:"strategy"`
	Tensor          int32              `json:"tensor"`
	Quantization    v1alpha1.Precision `json:"quantization"`
	Devices         int32              `json:"devices"`
	Nodes           int32              `json:"nodes"`
	MemoryBytes     int64              `json:"memoryBytes"`
	TokensPerSecond int64              `json:"tokensPerSecond,omitempty"`
	Products        map[string]int     `json:"products"`
	On              []string           `json:"on"`
	PlanMicros      int64              `json:"planMicros"`
	// Digits are those of the tokens per second that their range leaves meaning to.
	Digits int `json:"-"`
}

// SimulatedTimes are times of the wall clock in microseconds: of the index, of the plans that were found, and of
// finding out that there is none.
type SimulatedTimes struct {
	IndexMicros      int64 `json:"indexMicros"`
	PlanMedianMicros int64 `json:"planMedianMicros"`
	PlanWorstMicros  int64 `json:"planWorstMicros"`
	RefusalMicros    int64 `json:"refusalMicros,omitempty"`
}

// Summarize fills in the median and the worst time of the placements.
func (t *SimulatedTimes) Summarize(placements []SimulatedPlacement) {
	if len(placements) == 0 {
		return
	}
	t.PlanMedianMicros = medianTime(placements)
	t.PlanWorstMicros = slices.MaxFunc(placements, func(a, b SimulatedPlacement) int { return int(a.PlanMicros - b.PlanMicros) }).PlanMicros
}

// medianTime is the middle time of the plans; of an even number the mean of the two in the middle.
func medianTime(placements []SimulatedPlacement) int64 {
	times := make([]int64, len(placements))
	for i := range placements {
		times[i] = placements[i].PlanMicros
	}
	slices.Sort(times)
	return (times[(len(times)-1)/2] + times[len(times)/2]) / 2
}

func micros(n int64) string { return term.Milliseconds(time.Duration(n) * time.Microsecond) }

// placementGroup is placements of one name that came out the same, as --until-full has many.
type placementGroup struct {
	SimulatedPlacement
	times int
}

// groups joins placements that follow each other and differ only in where they are. The time of a group is the median.
func (r *SimulationReport) groups() []placementGroup {
	var groups []placementGroup
	for start := 0; start < len(r.Placements); {
		end := start + 1
		for end < len(r.Placements) && r.Placements[start].sameAs(&r.Placements[end]) {
			end++
		}
		g := placementGroup{SimulatedPlacement: r.Placements[start], times: end - start}
		g.PlanMicros = medianTime(r.Placements[start:end])
		for _, p := range r.Placements[start+1 : end] {
			g.On = slices.Concat(g.On, p.On)
		}
		slices.Sort(g.On)
		g.On = slices.Compact(g.On)
		groups = append(groups, g)
		start = end
	}
	return groups
}

func (p *SimulatedPlacement) sameAs(other *SimulatedPlacement) bool {
	return p.Placement == other.Placement && p.Strategy == other.Strategy && p.Quantization == other.Quantization && p.Nodes == other.Nodes &&
		p.MemoryBytes == other.MemoryBytes && p.TokensPerSecond == other.TokensPerSecond && fmt.Sprint(p.Products) == fmt.Sprint(other.Products)
}

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
			estimate = term.Grouped(int64(words.Round(float64(g.TokensPerSecond), g.Digits))) + " tokens/s"
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
