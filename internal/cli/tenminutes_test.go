package cli

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rankwright/rankwright/internal/cli/clitest"
)

// TestTenMinutes holds the outputs that docs/start/ten-minutes.md shows; -update writes them anew.
func TestTenMinutes(t *testing.T) {
	root := filepath.Join("..", "..")
	page := clitest.ReadPage(t, filepath.Join(root, "docs", "start", "ten-minutes.md"))
	host := filepath.Join(t.TempDir(), "host")
	made, err := simulateAt(t, 30*time.Microsecond, "", "--shape", "h100x8=1", "--write", host)
	if err != nil {
		t.Fatal(err)
	}
	page.Show(t, "simulate --shape h100x8=1 --write ./host", made.Out)
	for _, name := range []string{"tensor", "too-large"} {
		example := filepath.Join("examples", name+".yaml")
		r := run(t, "", "plan", "-f", host, "-f", filepath.Join(root, example))
		page.Show(t, "plan -f ./host -f "+filepath.ToSlash(example), r.Out+r.Err)
	}
	page.Hold(t)
}
