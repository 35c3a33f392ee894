package repository

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// output is a command in a document, with what it prints.
var output = regexp.MustCompile("(?m)^\\$ .+\n[^$`]")

// TestShownOutputsAreHeld: a page that shows what commands print is named by a test, in which its Hold sees to each of them (internal/cli/clitest).
func TestShownOutputsAreHeld(t *testing.T) {
	root := rootOf(t)
	var tests strings.Builder
	var pages []string
	walk(t, root, func(path string) {
		switch {
		case strings.HasSuffix(path, "_test.go"):
			tests.WriteString(contentOf(t, path))
		case strings.HasSuffix(path, ".md") && output.MatchString(contentOf(t, path)):
			pages = append(pages, path)
		}
	})
	for _, page := range pages {
		if !strings.Contains(tests.String(), `"`+filepath.Base(page)+`"`) {
			t.Errorf("%s shows what commands print, and no test holds it: show it from one by clitest.ReadPage, or cut it", page)
		}
	}
	if len(pages) < 10 {
		t.Errorf("only %q show what commands print: they are not found any more", pages)
	}
}
