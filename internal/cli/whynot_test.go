package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentedRefusals holds the outputs that docs/why-not.md shows; -update writes them anew.
func TestDocumentedRefusals(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	path := filepath.Join(docs, "why-not.md")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	hosts := map[string]string{}
	for name, shape := range map[string]string{"./l40s": "l40sx4=2", "./h100": "h100x8=1"} {
		hosts[name] = filepath.Join(t.TempDir(), "cluster")
		ok(t, "", "simulate", "--shape", shape, "--write", hosts[name])
	}
	page := string(content)
	for _, d := range []struct{ hosts, file, more string }{
		{"./l40s", "too-large.yaml", ""},
		{"./l40s", "in-the-way.yaml", ""},
		{"./h100", "too-slow.yaml", ""},
		{"./h100", "fits.yaml", " -o wide | sed -n '/^REJECTED/,$p'"},
	} {
		r := run(t, "", "plan", "-f", hosts[d.hosts], "-f", filepath.Join(docs, "why-not", d.file), "-o", "wide")
		out := r.err
		if d.more != "" {
			_, after, _ := strings.Cut(r.out, "\nREJECTED")
			out = "REJECTED" + after
		}
		head := "$ kubectl rankwright plan -f " + d.hosts + " -f " + d.file + d.more + "\n"
		before, after, found := strings.Cut(page, head)
		_, after, closed := strings.Cut(after, "```\n")
		if !found || !closed || out == "" {
			t.Errorf("docs/why-not.md does not show %q", head)
			continue
		}
		page = before + head + out + "```\n" + after
	}
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if page != string(content) {
		t.Error("docs/why-not.md shows another output than the commands print: run the test with -update")
	}
}
