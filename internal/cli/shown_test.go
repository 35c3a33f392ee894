package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rankwright/rankwright/internal/cli/clitest"
)

// planned is how long each plan takes in these tests.
const planned = 30 * time.Microsecond

// TestTenMinutes holds the outputs that docs/start/ten-minutes.md shows; -update writes them anew.
func TestTenMinutes(t *testing.T) {
	root := filepath.Join("..", "..")
	page := clitest.ReadPage(t, filepath.Join(root, "docs", "start", "ten-minutes.md"))
	host := filepath.Join(t.TempDir(), "host")
	made, err := simulateAt(t, planned, "", "--shape", "h100x8=1", "--write", host)
	if err != nil {
		t.Fatal(err)
	}
	page.Show(t, "simulate --shape h100x8=1 --write ./host", made.Out)
	for _, name := range []string{"tensor", "too-large"} {
		example := filepath.Join("examples", name+".yaml")
		r := run(t, "", "plan", "-f", host, "-f", filepath.Join(root, example))
		page.Show(t, "plan -f ./host -f "+filepath.ToSlash(example), r.Out+r.Folded)
	}
	page.Hold(t)
}

var timed = regexp.MustCompile(`[0-9.]+ (?:ms|µs|s)\b`)

// untimed is an output without durations, and without the blanks that line columns up.
func untimed(output string) string {
	return strings.Join(strings.Fields(timed.ReplaceAllString(output, "")), " ")
}

// TestShownSimulations holds docs/use/simulate.md to what the command prints, but for how long planning took.
func TestShownSimulations(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "use", "simulate.md")
	page := clitest.ReadPage(t, path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("(?s)\\$ kubectl rankwright (simulate [^\n]*)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(commands) == 0 {
		t.Error("no command is found any more")
	}
	for _, m := range commands {
		made, err := simulateAt(t, planned, "", strings.Fields(m[1])[1:]...)
		if err != nil {
			t.Fatalf("%s: %v", m[1], err)
		}
		out := made.Out
		if untimed(out) == untimed(m[2]) {
			out = m[2]
		}
		page.Show(t, m[1], out)
	}
	page.Hold(t)
}
