package images

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	read, err := Read(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if read.Tags != "grpcnotrace" {
		t.Errorf("build tags %q: not those of the agent", read.Tags)
	}
	for name, want := range map[string]struct {
		programs []string
		root     bool
		glibc    bool
	}{
		"operator":    {programs: []string{"operator"}},
		"node-agent":  {programs: []string{"node-agent", "rankwright-nccl"}, root: true},
		"node-helper": {programs: []string{"node-helper", "rankwright-nvml", "rankwright-cdi", "nvidia-cdi-hook"}, root: true, glibc: true},
	} {
		stage := read.Stages[name]
		if stage == nil {
			t.Errorf("%s: no such stage", name)
			continue
		}
		if diff := cmp.Diff(want.programs, stage.Programs()); diff != "" {
			t.Errorf("%s: programs (-want +got):\n%s", name, diff)
		}
		if root := strings.HasPrefix(stage.User, "0:"); stage.User == "" || root != want.root || stage.Glibc != want.glibc {
			t.Errorf("%s: user %q, glibc %t", name, stage.User, stage.Glibc)
		}
		if !slices.ContainsFunc(stage.Copies, func(c Copy) bool { return c.To == stage.Entrypoint[0] }) {
			t.Errorf("%s starts %v, which it does not have: %v", name, stage.Entrypoint, stage.Copies)
		}
		if stage.Labels["org.opencontainers.image.version"] != "${VERSION}" || len(stage.Labels) != 6 {
			t.Errorf("%s: labels %v", name, stage.Labels)
		}
	}
}
