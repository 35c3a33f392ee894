package dashboards

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/document"
)

var update = flag.Bool("update", false, "write the tables of the documents")

const reference = "../../docs/metrics.md"

// checkReference holds the table of metrics in the documents to what is served, and that to what the source makes: a metric that the story
// does not bring about would be missing from both.
func (p *page) checkReference(t *testing.T) {
	var table strings.Builder
	table.WriteString("| metric | kind | by | labels | what it says |\n|---|---|---|---|---|\n")
	served := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(p.families)) {
		family := p.families[name]
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		served[name] = true
		by := "operator"
		if family.Labels["node"] && name != "rankwright_rank_info" {
			by = "agent"
		}
		var labels []string
		for _, label := range slices.Sorted(maps.Keys(family.Labels)) {
			if label != "node" || by == "operator" {
				labels = append(labels, "`"+label+"`")
			}
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s |\n", name, family.Type, by, strings.Join(labels, ", "), strings.TrimSuffix(family.Help, "."))
	}
	document.Table(t, reference, table.String(), *update)
	if diff := cmp.Diff(made(t), served); diff != "" {
		t.Errorf("metrics that the source makes, and metrics that were served (-made +served):\n%s", diff)
	}
}

const prefix = "rankwright_"

// naming are the ways in which the source names a metric, each with what is before the name.
var naming = []struct {
	pattern *regexp.Regexp
	before  string
}{
	{regexp.MustCompile(`maker\.(?:Gauge|Gauges|Counters|Histograms|Table)\(\s*"([a-z_]+)"[^+]`), prefix},
	{regexp.MustCompile(`\bdesc\("([a-z_]+)"`), prefix},
	{regexp.MustCompile(`\bgauges\("([a-z_]+)"`), prefix + "device_"},
	{regexp.MustCompile(`"rankwright_([a-z_]+)",`), prefix},
}

// made are the metrics that the source of operator and agent names.
func made(t *testing.T) map[string]bool {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, folder := range []string{"controllers", filepath.Join("pkg", "nodeagent")} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, way := range naming {
				for _, match := range way.pattern.FindAllSubmatch(text, -1) {
					found[way.before+string(match[1])] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}
