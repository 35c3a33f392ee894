package cli

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

func TestUIRefuses(t *testing.T) {
	for command, want := range map[string]string{
		"ui --shape h100x8":                         "give the number of nodes",
		"ui --shape tube=4":                         `shape "tube" is not known`,
		"ui --shape h100x8=1 --occupied half":       "--occupied",
		"ui --occupied 50%":                         "--occupied 50% is of --shape",
		"ui page":                                   "ui takes flags only",
		"ui -f " + clitest.Testdata(t, "plan.yaml"): "no AcceleratorInventory in the files",
		"ui --kubeconfig /none":                     "/none",
	} {
		r := clitest.Run(t, newRoot, "", strings.Fields(command)...)
		if r.Code == term.ExitOK || !strings.Contains(r.Err, want) {
			t.Errorf("%s: exit code %d, errors %q; want %q", command, r.Code, r.Err, want)
		}
	}
}
