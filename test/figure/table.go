package figure

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Result is what the log of tests says.
type Result struct {
	Figures, Failed, Skipped int
	// Other are tests that failed for another reason than a figure, by name.
	Other []string
}

// OK says whether there are figures and all of them hold.
func (r *Result) OK() bool {
	return r.Figures > 0 && r.Failed == 0 && r.Skipped == 0 && len(r.Other) == 0
}

// writeRow writes a row of cells. An error of the writer below comes again at Flush.
func writeRow(table *tabwriter.Writer, cells ...string) {
	_, _ = io.WriteString(table, strings.Join(cells, "\t")+"\n")
}

// Table reads the output of `go test -v` and writes the figures in it as a table, in the order in which they come.
func Table(in io.Reader, out io.Writer) (*Result, error) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	writeRow(table, "SUBJECT", "WHAT", "MEASURED", "BAR", "HOLDS")
	result := &Result{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	subject := ""
	for lines.Scan() {
		line := lines.Text()
		_, cells, found := strings.Cut(line, Mark)
		trimmed := strings.TrimSpace(line)
		switch {
		case found:
			row := strings.Split(cells, "\t")
			if len(row) != 5 {
				return nil, fmt.Errorf("%q has %d columns: write figures with Hold", line, len(row))
			}
			result.Figures++
			if row[4] == fails {
				result.Failed++
			}
			if row[0] == subject {
				row[0] = ""
			} else {
				subject = row[0]
			}
			writeRow(table, row...)
		case strings.HasPrefix(trimmed, "--- SKIP"):
			result.Skipped++
			result.Other = append(result.Other, trimmed)
		case strings.HasPrefix(trimmed, "--- FAIL") || strings.HasPrefix(trimmed, "FAIL\t"):
			result.Other = append(result.Other, trimmed)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return result, table.Flush()
}
