package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestVerbosity(t *testing.T) {
	replay := []string{"detect", "--replay", recordingOf(t, "nvidia-h100-8"), "-o", "name"}
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
				if !strings.Contains(r.err, want) {
					t.Errorf("%q is not told: %s", want, r.err)
				}
			}
			for _, unwanted := range test.silent {
				if strings.Contains(r.err, unwanted) {
					t.Errorf("%q is told: %s", unwanted, r.err)
				}
			}
			if strings.Contains(r.out, "level=") {
				t.Errorf("told where results go: %s", r.out)
			}
		})
	}
}
