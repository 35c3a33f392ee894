// Package document holds tables of documents to what they are made from, and finds the commands that documents give.
package document

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Table compares the table of a Markdown file, between `<!-- begin table -->` and `<!-- end table -->`, with what it is to be, or writes it
// where update is true.
func Table(t *testing.T, path, table string, update bool) {
	t.Helper()
	const begin, end = "<!-- begin table -->\n", "<!-- end table -->"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no %s... %s", path, begin, end)
	}
	want := before + begin + table + end + after
	if update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Errorf("%s is not what it is made from: run the test with -update (-want +got):\n%s", path, diff)
	}
}
