package cli

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// run runs the plugin in this process.
func run(t *testing.T, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Run(t, newRoot, stdin, args...)
}

// ok runs the plugin and returns its output, or fails.
func ok(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	return clitest.OK(t, newRoot, stdin, args...)
}

func TestUsage(t *testing.T) {
	tests := map[string]struct {
		args []string
		code int
		want string // in the errors
	}{
		"unknown command":      {[]string{"fly"}, term.ExitUsage, `unknown command "fly": use one of calibrate, cordon, cost, detect, diff, estimate, explain, export, mesh, model, models, plan, recommend, record, replan, simulate, top, train, tree, ui, uncordon, verify, why`},
		"unknown flag":         {[]string{"mesh", "--tq", "2"}, term.ExitUsage, "See 'kubectl rankwright mesh --help'"},
		"serving of nothing":   {[]string{"estimate", "--serving", "prefix=1"}, term.ExitUsage, "no model: name one"},
		"unknown serving":      {[]string{"estimate", "--model", "Llama-3.1-8B", "--device", "H100", "--serving", "prefixCache.hits=1"}, term.ExitUsage, "--serving prefixCache.hits=1: give FIELD=VALUE, where the field is one of engineVersion, memoryUtilizationPercent"},
		"serving by halves":    {[]string{"recommend", "--model", "Llama-3.1-8B", "--device", "H100", "--serving", "prefixCache=1"}, term.ExitUsage, "prefixCache.hitPercent, prefixCache.sharedTokens"},
		"serving in words":     {[]string{"cost", "--model", "Llama-3.1-8B", "--serving", "adapters.count=many"}, term.ExitUsage, "--serving adapters.count=many: give a whole number"},
		"serving that cannot":  {[]string{"estimate", "--model", "Llama-3.1-8B", "--device", "H100", "--serving", "memoryUtilizationPercent=200"}, term.ExitFailure, "memoryUtilizationPercent is 200: it must be from 0 to 100"},
		"unknown format":       {[]string{"model", "-o", "xml"}, term.ExitUsage, "use one of table, wide, json, yaml"},
		"number":               {[]string{"mesh", "--tp", "two"}, term.ExitUsage, `"two"`},
		"size below 1":         {[]string{"mesh", "--tp", "0"}, term.ExitUsage, `size of dimension "tp" is 0`},
		"dimension not there":  {[]string{"mesh", "--order", "tp-pp", "--dp", "2"}, term.ExitUsage, "add it to the order"},
		"group not there":      {[]string{"mesh", "--group", "tp-xx"}, term.ExitUsage, "--group tp-xx"},
		"unknown engine":       {[]string{"mesh", "--engine", "vllm"}, term.ExitUsage, "use one of vLLM, SGLang"},
		"expert size":          {[]string{"mesh", "--engine", "vLLM", "--tp", "4", "--ep", "3"}, term.ExitUsage, "--ep 3"},
		"mesh with argument":   {[]string{"mesh", "8"}, term.ExitUsage, "mesh takes flags only"},
		"two models":           {[]string{"model", "a", "b"}, term.ExitUsage, "give one name"},
		"unknown model":        {[]string{"model", "Llama-3.1-71B"}, term.ExitFailure, "Llama-3.1-70B"},
		"no such config":       {[]string{"model", "nowhere.json"}, term.ExitFailure, "nowhere.json"},
		"plan without files":   {[]string{"plan"}, term.ExitUsage, "give placements with -f, or a model with --model"},
		"plan of missing file": {[]string{"plan", "-f", "nowhere.yaml"}, term.ExitFailure, "nowhere.yaml"},
		"replay and root":      {[]string{"detect", "--replay", "x", "--root", "/"}, term.ExitUsage, "give one of them"},
		"replay of nothing":    {[]string{"detect", "--replay", "nowhere.tar.gz"}, term.ExitFailure, "nowhere.tar.gz"},
		"replay of no archive": {[]string{"detect", "--replay", "run_test.go"}, term.ExitFailure, "run_test.go"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := run(t, "", test.args...)
			if r.Code != test.code || !strings.Contains(r.Err, test.want) || r.Out != "" {
				t.Errorf("exit code %d, errors %q, output %q; want %d and %q", r.Code, r.Err, r.Out, test.code, test.want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"detect", "--help"}, {"mesh", "-h"}, {"model", "-h"}, {"help", "plan"}} {
		if out := ok(t, "", args...); !strings.Contains(out, "Examples:") || !strings.Contains(out, "kubectl rankwright") {
			t.Errorf("%v: no examples or another name in %s", args, out)
		}
	}
}

func TestCompletion(t *testing.T) {
	tests := map[string][]string{
		"Mixtral-8x7B": {"__complete", "model", "Mixtral"},
		"TensorRT-LLM": {"__complete", "mesh", "--engine", "T"},
		"yaml":         {"__complete", "detect", "-o", ""},
		"detect":       {"__complete", "det"},
	}
	for want, args := range tests {
		if r := run(t, "", args...); r.Code != term.ExitOK || !strings.Contains(r.Out, want) {
			t.Errorf("%v: exit code %d, %q; want %q in it", args, r.Code, r.Out, want)
		}
	}
}
