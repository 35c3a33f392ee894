package host

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
)

// Limits on a matrix: how many rows a person can read, beyond which they are put into groups, and how many can be compared
// with each other in no time.
const (
	maxRows     = 32
	maxCompared = 256
)

// printTopology writes what lies between the devices and network ports of a host, as `nvidia-smi topo -m` does: a row and a
// column for each, then what the names and words mean.
func printTopology(p *term.Page, status *v1alpha1.AcceleratorInventoryStatus) {
	spots := spotsOf(status)
	if len(spots) < 2 {
		return
	}
	if len(spots) > maxCompared {
		p.Linef("\nTopology: %d devices and ports are too many to show: select some, or see -o yaml.", len(spots))
		return
	}
	cells := relate(status, spots)
	if len(spots) > maxRows {
		p.Linef("\n%d devices and ports in groups; the farthest of their relations are shown:", len(spots))
		spots, cells = inGroups(spots, cells)
	}
	p.Line()
	printMatrix(p, status, spots, cells)
	p.Line()
	p.Table([]string{"NAME", "ID", "WHAT"}, term.Rows(spots, func(s *spot) []any { return []any{s.name, s.id, s.about} }))
	p.Line()
	p.Table(nil, term.Rows(wordsOf(cells), func(r *relation) []any { return []any{r.word, r.meaning} }))
}

func printMatrix(p *term.Page, status *v1alpha1.AcceleratorInventoryStatus, spots []spot, cells [][]relation) {
	header := []string{" "}
	rows := make([][]string, len(spots))
	for i := range spots {
		header = append(header, spots[i].name)
		rows[i] = append(rows[i], spots[i].name)
		for _, r := range cells[i] {
			rows[i] = append(rows[i], r.word)
		}
		rows[i] = append(rows[i], integer(spots[i].numa), cpusOf(status, spots[i].numa))
	}
	p.Grid(append(header, "NUMA", "CPUS"), rows, 2)
}

// maxCPUs keeps the list of a node with single processors from hiding the rest.
const maxCPUs = 40

// cpusOf are the processors of a NUMA node.
func cpusOf(status *v1alpha1.AcceleratorInventoryStatus, numa *int32) string {
	for _, node := range status.Host.NUMANodes {
		if numa != nil && node.ID == *numa {
			return words.Shorten(node.CPUs, maxCPUs)
		}
	}
	return ""
}

// wordsOf are the relations that the matrix has, from the nearest on.
func wordsOf(cells [][]relation) []relation {
	return slices.SortedFunc(maps.Keys(sets.New(slices.Concat(cells...)...)), compareRelations)
}
