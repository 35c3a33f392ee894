package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/cli/clitest"
)

func TestVerbosity(t *testing.T) {
	replay := []string{"detect", "--replay", clitest.RecordingOf(t, "nvidia-h100-8"), "-o", "name"}
	tool := `level=INFO msg=tool argv="[nvidia-smi -q -x]" exitCode=0 printedBytes=`
	backend := "level=INFO msg=backend name=nvidia state=Found devices=8 errorKind="
	file := "level=DEBUG msg=file name=/proc/meminfo bytes="
	absent := `level=DEBUG msg=file name=/etc/hosts errorKind=NotFound error=`
	plan := []string{"plan", "-f", filepath.Join("testdata", "plan.yaml"), "-v"}
	for name, test := range map[string]struct {
		args         []string
		told, silent []string
	}{
		"nothing":             {replay, nil, []string{"level="}},
		"what is run":         {append(replay, "-v"), []string{tool, backend}, []string{"level=DEBUG"}},
		"what is read":        {append(replay, "-vv"), []string{tool, backend, file, absent}, nil},
		"as a number":         {append(replay, "--verbose=2"), []string{file}, nil},
		"what is looked for":  {append(replay, "-v", "--no-exec"), []string{"state=Degraded devices=8 errorKind=ToolNotRun"}, []string{"msg=tool"}},
		"files of the user's": {plan, []string{"level=INFO msg=read file=testdata/plan.yaml bytes="}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, "", test.args...)
			for _, want := range test.told {
				if !strings.Contains(r.Err, want) {
					t.Errorf("%q is not told: %s", want, r.Err)
				}
			}
			for _, unwanted := range test.silent {
				if strings.Contains(r.Err, unwanted) {
					t.Errorf("%q is told: %s", unwanted, r.Err)
				}
			}
			if strings.Contains(r.Out, "level=") {
				t.Errorf("told where results go: %s", r.Out)
			}
		})
	}
}
