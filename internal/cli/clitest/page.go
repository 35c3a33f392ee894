package clitest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Page is a document that shows what commands print.
type Page struct {
	path, is, shows string
	// held are the commands whose outputs the test has shown.
	held []string
}

// ReadPage reads a document.
func ReadPage(t *testing.T, path string) *Page {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return &Page{path: path, is: string(content), shows: string(content)}
}

// Show has the page show what a command of the plugin prints, below its line.
func (p *Page) Show(t *testing.T, command, output string) {
	t.Helper()
	p.ShowLine(t, "kubectl rankwright "+command, output)
}

// end is where an output ends: at the next command, or with its block.
var end = regexp.MustCompile("(?m)^(\\$ |```$)")

// ShowLine has the page show what a line prints that is typed into a shell.
func (p *Page) ShowLine(t *testing.T, line, output string) {
	t.Helper()
	p.held = append(p.held, line)
	head := "$ " + line + "\n"
	before, after, found := strings.Cut(p.shows, head)
	at := end.FindStringIndex(after)
	if !found || at == nil {
		t.Errorf("%s does not show %q", p.path, line)
		return
	}
	p.shows = before + head + output + after[at[0]:]
}

// shown is a command with what it prints.
var shown = regexp.MustCompile("(?m)^\\$ (.+)\n[^$`]")

// Hold fails the test where the page differs from what was shown, or shows the output of a command that no test brought; -update writes the
// page anew. What other tests bring of the page begins with one of elsewhere.
func (p *Page) Hold(t *testing.T, elsewhere ...string) {
	t.Helper()
	for _, command := range shown.FindAllStringSubmatch(p.shows, -1) {
		if line := command[1]; !slices.Contains(p.held, line) && !slices.ContainsFunc(elsewhere, func(s string) bool { return strings.HasPrefix(line, s) }) {
			t.Errorf("%s shows an output of %q, which no test holds: show it from one, or cut it", p.path, line)
		}
	}
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
