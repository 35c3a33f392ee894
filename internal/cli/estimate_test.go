package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/sizing"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/estimate"
)

// documented are the commands of docs/use/estimate.md with the golden file of each output.
var documented = []struct{ golden, command string }{
	{"recommend.txt", "recommend --model Llama-3.3-70B --device H100 --devices 8 --max-ttft 500ms --max-tpot 20ms --isl 1000 --osl 500"},
	{"estimate.txt", "estimate --model Llama-3.3-70B-FP8 --device H100 --tp 2 --isl 1000 --osl 1000"},
	{"estimate-explain.txt", "estimate --model Llama-3.1-8B --device L4 --pp 2 --isl 500 --osl 500 --concurrency 8 --max-sequences 64 -o explain"},
	{"estimate.json", "estimate --model deepseek-ai/DeepSeek-R1 --device H200 --engine SGLang --tp 8 --concurrency 64 -o json"},
	{"estimate-no.txt", "estimate --model Llama-3.1-405B --device H100 --tp 8"},
	{"estimate-replay.txt", "estimate --model Qwen3-14B --device H100 --lengths ShareGPT --requests 500 --concurrency 64 --replay"},
	{"train.txt", "train --model Llama-3.1-8B --device H100 --data 8 --sharding FSDP --sequence 8192 --global-batch 64 --checkpointing"},
	{"cost.txt", "cost --model Llama-3.3-70B-FP8 --isl 2000 --osl 500 --max-tpot 30ms --provider OCI"},
}

// TestDocumentedEstimates holds the outputs that docs/use/estimate.md shows; -update writes the document and the golden files anew.
func TestDocumentedEstimates(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "use", "estimate.md")
	page := clitest.ReadPage(t, path)
	for _, d := range documented {
		out := ok(t, "", strings.Fields(d.command)...)
		clitest.Golden(t, d.golden, out)
		page.Show(t, d.command, out)
	}
	page.Hold(t)
}

// TestEstimateJSON: the fields that programs rely on, and null where there is no figure.
func TestEstimateJSON(t *testing.T) {
	got := clitest.Object[map[string]any](t, ok(t, "", "estimate", "--model", "Llama-3.1-8B", "--device", "NVIDIA H100 80GB HBM3", "-o", "json"))
	memory, _ := got["memory"].(map[string]any)
	if got["fits"] != true || memory["weightsBytes"] != 16060522496.0 {
		t.Errorf("got %v", got)
	}
	for _, field := range []string{"ttftMillis", "tpotMillis", "outputTokensPerSecond"} {
		if v, _ := got[field].(float64); v <= 0 {
			t.Errorf("%s is %v", field, got[field])
		}
	}
	got = clitest.Object[map[string]any](t, ok(t, "", "estimate", "--model", "Llama-3.1-405B", "--device", "H100", "-o", "json"))
	if v, there := got["tpotMillis"]; got["fits"] != false || !there || v != nil || got["reason"] == "" {
		t.Errorf("a model that does not fit: %v", got)
	}
}

// TestEstimateYAML: YAML says the same as JSON.
func TestEstimateYAML(t *testing.T) {
	args := []string{"estimate", "--model", "Llama-3.1-8B", "--device", "h200", "-o"}
	if out := ok(t, "", append(args, "yaml")...); !strings.Contains(out, "\nfits: true\n") || !strings.Contains(out, "\nmodel: Llama-3.1-8B\n") {
		t.Errorf("got %s", out)
	}
	if wide := ok(t, "", append(args, "wide")...); !strings.Contains(wide, "SEQUENCES") {
		t.Errorf("got %s", wide)
	}
}

// TestEstimateFromConfig reads a config.json from a file and from standard input.
func TestEstimateFromConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, "-"} {
		got := clitest.Object[estimate.Answer](t, ok(t, config, "estimate", "--model", name, "--device", "L4", "-o", "json"))
		if !got.Fits || got.Weights != "BF16" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestWarnings go to the errors for people, and into the object for programs.
func TestWarnings(t *testing.T) {
	args := []string{"estimate", "--model", "Llama-3.1-8B", "--device", "A100 80GB", "--weights", "FP8"}
	if r := run(t, "", args...); r.Code != term.ExitOK || !strings.Contains(r.Err, "warning: NVIDIA A100-SXM4-80GB does not compute in FP8") {
		t.Errorf("exit code %d, errors %q", r.Code, r.Err)
	}
	if got := clitest.Object[estimate.Answer](t, ok(t, "", append(args, "-o", "json")...)); len(got.Warnings) != 2 || !strings.HasPrefix(got.Warnings[0], "weights in FP8 are those of RedHatAI/") {
		t.Errorf("warnings %q", got.Warnings)
	}
}

func TestEstimateUsage(t *testing.T) {
	base := []string{"--model", "Llama-3.1-8B", "--device", "H100"}
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no model":        {[]string{"estimate", "--device", "H100"}, term.ExitUsage, "--model"},
		"no device":       {[]string{"estimate", "--model", "Llama-3.1-8B"}, term.ExitUsage, "--device"},
		"unknown model":   {[]string{"estimate", "--model", "Llama-3.1-71B", "--device", "H100"}, term.ExitFailure, "Llama-3.1-70B"},
		"unknown device":  {[]string{"train", "--model", "Llama-3.1-8B", "--device", "H1000"}, term.ExitFailure, "did you mean"},
		"several devices": {[]string{"estimate", "--model", "Llama-3.1-8B", "--device", "A100"}, term.ExitFailure, "name one of"},
		"engine":          {append([]string{"estimate", "--engine", "ollama"}, base...), term.ExitUsage, "use one of"},
		"precision":       {append([]string{"estimate", "--weights", "FP7"}, base...), term.ExitUsage, "use one of"},
		"concurrency":     {append([]string{"estimate", "--concurrency", "many"}, base...), term.ExitUsage, "--concurrency many"},
		"none at a time":  {append([]string{"estimate", "--concurrency", "0"}, base...), term.ExitUsage, "--concurrency 0"},
		"degree":          {append([]string{"estimate", "--tp", "3"}, base...), term.ExitFailure, "tp 3: the 32 heads"},
		"batch":           {append([]string{"train", "--data", "3"}, base...), term.ExitFailure, "use a multiple of 3"},
		"format":          {append([]string{"estimate", "-o", "xml"}, base...), term.ExitUsage, "explain"},
		"an argument":     {[]string{"cost", "Llama-3.1-8B"}, term.ExitUsage, "cost takes flags only"},
		"no prices":       {[]string{"cost", "--model", "Llama-3.1-8B", "--prices", "nowhere.yaml"}, term.ExitFailure, "nowhere.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, "", test.args...)
			if r.Code != test.code || !strings.Contains(r.Err, test.want) || r.Out != "" {
				t.Errorf("exit code %d, errors %q, output %q; want %d and %q", r.Code, r.Err, r.Out, test.code, test.want)
			}
		})
	}
}

// ownPrices is a table of prices that a user may have.
const ownPrices = `{"shapes": [
	{"provider": "Ours", "instance": "box", "region": "here", "product": "NVIDIA H200", "devices": 2, "usdPerHour": 3.6, "source": "us", "date": "2026-01-01"},
	{"provider": "Ours", "instance": "old", "region": "here", "product": "Tesla T4", "devices": 1, "usdPerHour": 0.1, "source": "us", "date": "2026-01-01"}]}`

// TestCostOfOwnPrices: a table of the caller's replaces the built-in one, and what is left out says why.
func TestCostOfOwnPrices(t *testing.T) {
	got := clitest.Object[estimate.Offers](t, ok(t, ownPrices, "cost", "--model", "Llama-3.1-70B", "--weights", "FP8", "--prices", "-", "-o", "json"))
	if len(got.Offers) != 1 || got.Offers[0].Instance != "box" || got.Offers[0].USDPerHour != 3.6 || len(got.LeftOut) != 1 || got.LeftOut[0].Instance != "old" {
		t.Fatalf("got %+v", got)
	}
	if want := 1000 / *got.Offers[0].Answer.OutputTokensPerSecond; got.Offers[0].USDPerMillionTokens < 0.999*want || got.Offers[0].USDPerMillionTokens > 1.001*want {
		t.Errorf("a million tokens for %v USD, want %v", got.Offers[0].USDPerMillionTokens, want)
	}
	if out := ok(t, ownPrices, "cost", "--model", "Llama-3.1-405B", "--prices", "-"); !strings.Contains(out, "No shape serves the model.") || !strings.Contains(out, "does not fit") {
		t.Errorf("got %s", out)
	}
}

func TestEstimateCompletion(t *testing.T) {
	for want, args := range map[string][]string{
		"Llama-3.1-8B\n": {"__complete", "estimate", "--model", "Llama-3.1"}, "NVIDIA H200\n": {"__complete", "train", "--device", "NVIDIA H"},
		"SGLang\n": {"__complete", "cost", "--engine", ""}, "max\n": {"__complete", "estimate", "--concurrency", ""}, "CoreWeave\n": {"__complete", "cost", "--provider", ""},
		"explain\n": {"__complete", "train", "-o", ""}, "NVFP4\n": {"__complete", "estimate", "--weights", ""}, "ZeRO3\n": {"__complete", "train", "--sharding", "Z"},
	} {
		if r := run(t, "", args...); r.Code != term.ExitOK || !strings.Contains(r.Out, want) {
			t.Errorf("%v: exit code %d, %q; want %q in it", args, r.Code, r.Out, want)
		}
	}
}

// TestDevicesWithoutBF16 asks for a model as it is published on a device that has no BF16: it is run in FP16, and this is said.
func TestDevicesWithoutBF16(t *testing.T) {
	got := clitest.Object[estimate.Answer](t, ok(t, "", "estimate", "--model", "Llama-3.1-8B", "--device", "T4", "--tp", "2", "-o", "json"))
	const said = "Tesla T4 has no BF16: weights are in FP16"
	if got.Weights != v1alpha1.FP16 || got.KV != v1alpha1.FP16 || !slices.Contains(got.Warnings, said) {
		t.Errorf("weights in %s, cache in %s, warnings %q", got.Weights, got.KV, got.Warnings)
	}
}

// TestModelsByNumber: wherever a model is taken, a number of parameters is one, and what was assumed is said.
func TestModelsByNumber(t *testing.T) {
	for _, name := range []string{"70B", "70000000000"} {
		for _, command := range []string{
			"estimate --device H100 --tp 4 -o json --model", "train --device H100 --tp 8 -o json --model", "cost --provider OCI -o json --model",
			"simulate --shape h100x8=1 -o json --model", "model -o json",
		} {
			r := run(t, "", append(strings.Fields(command), name)...)
			if r.Code != term.ExitOK || !strings.Contains(r.Out, "70") {
				t.Errorf("%s %s: exit code %d, errors %q", command, name, r.Code, r.Err)
			}
		}
		if got := clitest.Object[sizing.ModelFacts](t, ok(t, "", "model", name, "-o", "json")); got.Parameters < 70e9 || got.Parameters > 70.1e9 || len(got.Assumptions) == 0 {
			t.Errorf("%s has %d parameters, assumed %q", name, got.Parameters, got.Assumptions)
		}
		if r := run(t, "", "estimate", "--model", name, "--device", "H100", "--tp", "4"); !strings.Contains(r.Err, "warning: only the number of parameters is known") {
			t.Errorf("%s: errors %q", name, r.Err)
		}
	}
	if r := run(t, "", "model", "7"); r.Code != term.ExitFailure || !strings.Contains(r.Err, "model 7: parameters is 7: give a number from") {
		t.Errorf("exit code %d, errors %q", r.Code, r.Err)
	}
}

// TestCostOfProviders: a provider in any case, the order that is asked for, and a price that nobody knows is said.
func TestCostOfProviders(t *testing.T) {
	base := []string{"cost", "--model", "Llama-3.1-8B", "-o", "json"}
	upper := ok(t, "", append(base, "--provider", "OCI")...)
	if lower := ok(t, "", append(base, "--provider", "oci")...); lower != upper {
		t.Errorf("oci is another provider than OCI")
	}
	for order, price := range map[string]func(*estimate.Offer) float64{
		"token": func(o *estimate.Offer) float64 { return o.USDPerMillionTokens }, "hour": func(o *estimate.Offer) float64 { return o.USDPerHour },
	} {
		offers := clitest.Object[estimate.Offers](t, ok(t, "", append(base, "--sort", order)...)).Offers
		if !slices.IsSortedFunc(offers, func(a, b estimate.Offer) int { return cmp.Compare(price(&a), price(&b)) }) || len(offers) < 20 {
			t.Errorf("%d offers are not sorted by %s", len(offers), order)
		}
	}
	for want, args := range map[string][]string{
		`no price is known of provider "azur": there are prices of AWS, Azure, `:  {"--provider", "azur"},
		"no price is known of NVIDIA GeForce RTX 4090: give a table of your own":  {"--device", "RTX 4090"},
		"no price is known of NVIDIA GB300 at aws: there are prices of it at OCI": {"--device", "GB300", "--provider", "aws"},
	} {
		if r := run(t, "", append([]string{"cost", "--model", "Llama-3.1-8B"}, args...)...); r.Code != term.ExitFailure || !strings.Contains(r.Err, want) || r.Out != "" {
			t.Errorf("%v: exit code %d, errors %q, output %q; want %q", args, r.Code, r.Err, r.Out, want)
		}
	}
	if r := run(t, "", "cost", "--model", "Llama-3.1-8B", "--sort", "name"); r.Code != term.ExitUsage || !strings.Contains(r.Err, "use one of token, hour") {
		t.Errorf("exit code %d, errors %q", r.Code, r.Err)
	}
	if wide := ok(t, "", "cost", "--model", "Llama-3.1-8B", "--provider", "gcp", "-o", "wide"); !strings.Contains(wide, "96     1360 GiB   100 Gbit/s") {
		t.Errorf("no processors, memory and network of a2-ultragpu-8g in\n%s", wide)
	}
}
