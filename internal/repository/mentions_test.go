package repository

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mention is something that documents name, and where it has to be.
type mention struct {
	pattern *regexp.Regexp // the first group is the name
	least   int            // names in all documents
	where   string
	exists  func(name string) bool
}

// TestDocumentsNameWhatExists: tests are there under the names that documents give.
func TestDocumentsNameWhatExists(t *testing.T) {
	root := rootOf(t)
	tests := testsOf(t, root)
	mentions := []mention{
		{regexp.MustCompile(`\b((?:Test|Benchmark|Fuzz)[A-Z]\w+)`), 50, "any test", func(name string) bool {
			return slices.ContainsFunc(tests, func(test string) bool { return strings.HasPrefix(test, name) })
		}},
	}
	named := make([]map[string]bool, len(mentions))
	walk(t, root, func(path string) {
		if !strings.HasSuffix(path, ".md") {
			return
		}
		text := contentOf(t, path)
		for i, m := range mentions {
			for _, match := range m.pattern.FindAllStringSubmatch(text, -1) {
				if named[i] == nil {
					named[i] = map[string]bool{}
				}
				named[i][match[1]] = true
				if !m.exists(match[1]) {
					t.Errorf("%s names %s, which is not in %s", path, match[1], m.where)
				}
			}
		}
	})
	for i, m := range mentions {
		if len(named[i]) < m.least {
			t.Errorf("only %v are named of %s: they are not found any more", slices.Sorted(maps.Keys(named[i])), m.where)
		}
	}
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)

// testsOf are the names of all tests and benchmarks.
func testsOf(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	walk(t, root, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			for _, match := range testFunction.FindAllStringSubmatch(contentOf(t, path), -1) {
				names = append(names, match[1])
			}
		}
	})
	return names
}

func contentOf(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
