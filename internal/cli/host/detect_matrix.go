package host

import (
	"fmt"
	"io"
	"maps"
	"slices"

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

// printTopology prints what lies between the devices and network ports of a host, as `nvidia-smi topo -m` does: a row and a
// column for each, then what the names and words mean.
func printTopology(w io.Writer, status *v1alpha1.AcceleratorInventoryStatus) error {
	spots := spotsOf(status)
	if len(spots) < 2 {
		return nil
	}
	if len(spots) > maxCompared {
		_, err := fmt.Fprintf(w, "\nTopology: %d devices and ports are too many to show: select some, or see -o yaml.\n", len(spots))
		return err
	}
	cells := relate(status, spots)
	if len(spots) > maxRows {
		if _, err := fmt.Fprintf(w, "\n%d devices and ports in groups; the farthest of their relations are shown:\n", len(spots)); err != nil {
			return err
		}
		spots, cells = inGroups(spots, cells)
	}
	for _, part := range []func() error{
		func() error { return printMatrix(w, status, spots, cells) },
		func() error { return printSpots(w, spots) },
		func() error { return printWords(w, cells) },
	} {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func printMatrix(w io.Writer, status *v1alpha1.AcceleratorInventoryStatus, spots []spot, cells [][]relation) error {
	header := []string{" "}
	for i := range spots {
		header = append(header, spots[i].name)
	}
	header = append(header, "NUMA", "CPUS")
	rows := make([][]string, len(spots))
	for i := range spots {
		rows[i] = append(rows[i], spots[i].name)
		for _, r := range cells[i] {
			rows[i] = append(rows[i], r.word)
		}
		rows[i] = append(rows[i], integer(spots[i].numa), cpusOf(status, spots[i].numa))
	}
	return term.Grid(w, header, rows, 2)
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

func printSpots(w io.Writer, spots []spot) error {
	rows := make([][]string, len(spots))
	for i := range spots {
		rows[i] = []string{spots[i].name, spots[i].id, spots[i].about}
	}
	return term.Table(w, []string{"NAME", "ID", "WHAT"}, rows)
}

// printWords explains the words that the matrix has, from the nearest on.
func printWords(w io.Writer, cells [][]relation) error {
	seen := map[relation]bool{}
	for i := range cells {
		for _, r := range cells[i] {
			seen[r] = true
		}
	}
	var rows [][]string
	for _, r := range slices.SortedFunc(maps.Keys(seen), compareRelations) {
		rows = append(rows, []string{r.word, r.meaning})
	}
	return term.Table(w, nil, rows)
}
