package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/cli/clitest"
)

// TestDocumentedRefusals holds the outputs that docs/why-not.md shows; -update writes them anew.
func TestDocumentedRefusals(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	path := filepath.Join(docs, "why-not.md")
	page := clitest.ReadPage(t, path)
	hosts := map[string]string{}
	for name, shape := range map[string]string{"./l40s": "l40sx4=2", "./h100": "h100x8=1"} {
		hosts[name] = filepath.Join(t.TempDir(), "cluster")
		ok(t, "", "simulate", "--shape", shape, "--write", hosts[name])
	}
	for _, d := range []struct{ hosts, file, more string }{
		{"./l40s", "too-large.yaml", ""},
		{"./l40s", "in-the-way.yaml", ""},
		{"./h100", "too-slow.yaml", ""},
		{"./h100", "fits.yaml", " -o wide | sed -n '/^REJECTED/,$p'"},
	} {
		r := run(t, "", "plan", "-f", hosts[d.hosts], "-f", filepath.Join(docs, "why-not", d.file), "-o", "wide")
		out := r.Err
		if d.more != "" {
			_, after, _ := strings.Cut(r.Out, "\nREJECTED")
			out = "REJECTED" + after
		}
		if out == "" {
			t.Errorf("%s: no output", d.file)
		}
		page.Show(t, "plan -f "+d.hosts+" -f "+d.file+d.more, out)
	}
	page.Hold(t)
}
