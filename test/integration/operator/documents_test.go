package operator

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rankwright/rankwright/internal/cli/clitest"
)

// ofARun is what differs between two runs, with what pages have for it.
var ofARun = []struct {
	is   *regexp.Regexp
	text string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "2026-03-01T10:04:12Z"},
	{regexp.MustCompile(`Job rankwright-[0-9a-f]+`), "Job rankwright-5d0c1f7e9a3b2c44"},
}

// document holds a page of docs to what kubectl prints; -update writes the output anew.
func (w world) document(page, line string) {
	w.Helper()
	p := clitest.ReadPage(w.T, filepath.Join("..", "..", "..", "docs", page))
	printed := w.Cluster.Kubectl(w.T, append(strings.Fields(strings.ReplaceAll(line, "'", "")), "-n", testNamespace)...)
	for _, v := range ofARun {
		printed = v.is.ReplaceAllString(printed, v.text)
	}
	p.ShowLine(w.T, "kubectl "+line, strings.TrimSuffix(printed, "\n")+"\n")
	p.Hold(w.T)
}
