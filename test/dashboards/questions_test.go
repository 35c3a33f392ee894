package dashboards

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/test/document"
)

const dashboardsFile = "../../docs/operate/dashboards.md"

// checkQuestions runs the query of each question that the document answers, and holds its list of panels to the dashboards.
func (p *page) checkQuestions(t *testing.T) {
	text, err := os.ReadFile(dashboardsFile)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Questions\n")
	section, _, _ = strings.Cut(section, "\n## ")
	questions := strings.Split(section, "\n### ")[1:]
	if len(questions) == 0 {
		t.Fatal("the document asks nothing")
	}
	for _, question := range questions {
		title, rest, _ := strings.Cut(question, "\n")
		_, rest, _ = strings.Cut(rest, "```promql\n")
		query, _, _ := strings.Cut(rest, "\n```")
		if query == "" || strings.Contains(query, "\n") {
			t.Errorf("%s has no query of one line", title)
			continue
		}
		if !p.answers(t, query) {
			t.Errorf("%s: no answer to %s", title, query)
		}
	}
	var table strings.Builder
	table.WriteString("| dashboard | panel | what to know |\n|---|---|---|\n")
	for _, b := range readBoards(t) {
		for _, panel := range b.Panels {
			if panel.Type != "row" {
				fmt.Fprintf(&table, "| %s | %s | %s |\n", strings.TrimPrefix(b.Title, "Rankwright / "), panel.Title, panel.Description)
			}
		}
	}
	document.Table(t, dashboardsFile, table.String(), *update)
}
