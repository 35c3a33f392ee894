package figure

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Baseline is the benchmark of fixed work that others are compared with, so that runs of different machines can be.
const Baseline = "BenchmarkBaseline"

// bars are what benchmarks are held to, by the beginning of their name; the first that fits counts.
var bars = []struct {
	name *regexp.Regexp
	unit string
	most float64
}{
	// A refusal, whose remedies are planned too, is no plan.
	{regexp.MustCompile(`^BenchmarkScalePlan/(single|tensor|pipeline|copies)/devices=4$`), "ns/op", 50e3},
	{regexp.MustCompile(`^BenchmarkScalePlan/moe/devices=4$`), "ns/op", 200e3}, // experts can be divided in more ways
	{regexp.MustCompile(`^BenchmarkScalePlan/.*/nodes=1000$`), "ns/op", 5e6},
	{regexp.MustCompile(`^BenchmarkScalePlan/.*/nodes=10000$`), "ns/op", 20e6},
	{regexp.MustCompile(`^BenchmarkIndexUpdate/(node|fabric)/`), "ns/op", 100e3},
	{regexp.MustCompile(`^BenchmarkScaleIndex/nodes=\d+$`), "ns/op", 100e6},
	{regexp.MustCompile(`^BenchmarkScaleIndex/nodes=\d+$`), "index-bytes", 60e6},
	{regexp.MustCompile(`^BenchmarkBesideNFD$`), "cpu-ratio", 1},
	{regexp.MustCompile(`^BenchmarkBesideNFD$`), "memory-ratio", 1},
}

// run is a benchmark's line: its name without the number of processors, and its numbers by unit.
type run struct {
	name   string
	values map[string]float64
}

var processors = regexp.MustCompile(`-\d+$`)

func parseRun(line string) (run, bool) {
	cells := strings.Fields(line)
	if len(cells) < 4 || !strings.HasPrefix(cells[0], "Benchmark") {
		return run{}, false
	}
	r := run{processors.ReplaceAllString(cells[0], ""), map[string]float64{}}
	for i := 2; i+1 < len(cells); i += 2 {
		value, err := strconv.ParseFloat(cells[i], 64)
		if err != nil {
			return run{}, false
		}
		r.values[cells[i+1]] = value
	}
	return r, true
}

// Bars reads the output of `go test -bench` and writes what was measured of the benchmarks that have a bar, with the ratio
// to the baseline of the same run. Times are not held to bars by a test: they depend on what else the machine does.
func Bars(in io.Reader, out io.Writer) error {
	var runs []run
	baseline := 0.0
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if r, ok := parseRun(lines.Text()); ok {
			runs = append(runs, r)
			if r.name == Baseline {
				baseline = r.values["ns/op"]
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if baseline == 0 {
		return fmt.Errorf("%s is missing: run it with the others", Baseline)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	writeRow(table, "BENCHMARK", "MEASURED", "BAR", "OF BAR", "OF BASELINE", "HOLDS")
	for i := range runs {
		for _, b := range bars {
			if value, ok := runs[i].values[b.unit]; ok && b.name.MatchString(runs[i].name) {
				writeRow(table, barCells(&runs[i], b.unit, value, b.most, baseline)...)
			}
		}
	}
	writeRow(table, Baseline, time.Duration(baseline).String())
	return table.Flush()
}

func barCells(r *run, unit string, value, most, baseline float64) []string {
	amount, ratio := func(v float64) string { return fmt.Sprintf("%.2f %s", v, unit) }, reported
	switch unit {
	case "ns/op":
		amount, ratio = func(v float64) string { return time.Duration(v).String() }, fmt.Sprintf("%.3g", value/baseline)
	case "index-bytes":
		amount = func(v float64) string { return fmt.Sprintf("%.1f MB", v/1e6) }
	}
	verdict := holds
	if value > most {
		verdict = fails
	}
	return []string{strings.TrimPrefix(r.name, "Benchmark"), amount(value), amount(most), fmt.Sprintf("%.0f %%", 100*value/most), ratio, verdict}
}
