package clitest

import (
	"os"
	"strings"
	"testing"
)

// Page is a document that shows what commands print.
type Page struct{ path, is, shows string }

// ReadPage reads a document.
func ReadPage(t *testing.T, path string) *Page {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return &Page{path: path, is: string(content), shows: string(content)}
}

// Show has the page show what a command prints, below its line.
func (p *Page) Show(t *testing.T, command, output string) {
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

// Hold fails the test where the page differs from what was shown; -update writes the page anew.
func (p *Page) Hold(t *testing.T) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(p.path, []byte(p.shows), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if p.is != p.shows {
		t.Errorf("%s shows another output than the commands print: run the test with -update", p.path)
	}
}
