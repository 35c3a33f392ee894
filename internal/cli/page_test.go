package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/cli/clitest"
)

// page is a document that shows what commands print.
type page struct{ path, is, shows string }

func readPage(t *testing.T, path string) *page {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return &page{path: path, is: string(content), shows: string(content)}
}

// show has the page show what a command prints, below its line.
func (p *page) show(t *testing.T, command, output string) {
	t.Helper()
	const end = "```\n"
	head := "$ kubectl rankwright " + command + "\n"
	before, after, found := strings.Cut(p.shows, head)
	_, after, closed := strings.Cut(after, end)
	if !found || !closed {
		t.Errorf("%s does not show %q", p.path, command)
		return
	}
	p.shows = before + head + output + end + after
}

// hold fails the test where the page differs from what was shown; -update writes the page anew.
func (p *page) hold(t *testing.T) {
	t.Helper()
	if *clitest.Update {
		if err := os.WriteFile(p.path, []byte(p.shows), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if p.is != p.shows {
		t.Errorf("%s shows another output than the commands print: run the test with -update", p.path)
	}
}
