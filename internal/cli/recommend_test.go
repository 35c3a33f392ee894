package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// TestRecommendIsThePlan: what is recommended for imagined hosts is what plan gives on their inventories, asked for in a file and in
// one line.
func TestRecommendIsThePlan(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "hosts")
	ok(t, "", "simulate", "--shape", "h100x8=2", "--write", folder)
	asked := placement("p", large, `"replicas":3`)
	asked = strings.Replace(asked, `"maxModelLen":4096`, `"maxModelLen":8192,"maxSequences":32,"inputTokens":1000,"outputTokens":500,"maxTTFTMillis":900,"objective":"Latency"`, 1)
	plans, _ := plansOf(t, ok(t, asked, "plan", "-f", folder, "-f", "-", "-o", "json"))
	flags := strings.Fields("--model Llama-3.1-70B --replicas 3 --max-sequences 32 --isl 1000 --osl 500 --max-ttft 900ms --objective latency -o json")
	for _, command := range [][]string{
		{"recommend", "--device", "H100", "--devices", "8", "--nodes", "2"},
		{"recommend", "-f", folder},
		{"plan", "-f", folder},
	} {
		got, meshes := plansOf(t, ok(t, "", append(command, flags...)...))
		if len(got) != 1 || len(meshes) != 1 {
			t.Fatalf("%v: %d plans, %d meshes", command, len(got), len(meshes))
		}
		got[0].Spec.Placement = plans[0].Spec.Placement
		if diff := cmp.Diff(plans[0].Spec, got[0].Spec); diff != "" {
			t.Errorf("%v (-of the file +of the flags):\n%s", command, diff)
		}
	}
}

// TestRecommendTakesWhatPeopleHave: products without a shape, other words for flags, by the number, by figures, by a file.
func TestRecommendTakesWhatPeopleHave(t *testing.T) {
	for command, want := range map[string]string{
		"--model 8B --device L4 --devices 2":                                              "synthetic-8B, ",
		"--model Llama-3.1-8B --device MI300X --concurrency 32":                           "32 sequences at once in a copy",
		"--model Llama-3.1-8B --device L40S --weights fp8 --devices 2":                    "weights stored in FP8",
		"--model Llama-3.1-8B --memory 80GB --bandwidth 3350 --tflops 989":                "TP",
		"--model Llama-3.3-70B --device H100 --memory 141Gi --bandwidth 4800 --devices 8": "131072",
		"--model Llama-3.1-8B --device H100 --engine sglang --total-sequences 64":         "64 sequences at once in all copies",
		"--model Llama-3.1-8B --device H100 -o explain":                                   "5. Time",
		"--model Llama-3.1-8B --device H100 -o wide":                                      "[0]",
		"--model Llama-3.1-8B --device H100 -o yaml":                                      "kind: ShardingPlan",
		"--model - --device H100":                                                         "stdin, ",
	} {
		if want == "131072" {
			command, want = command+" --max-model-len 131072 --max-sequences 4", "of at most 131072 tokens"
		}
		if out := ok(t, config, append([]string{"recommend"}, strings.Fields(command)...)...); !strings.Contains(out, want) {
			t.Errorf("%s: want %q in\n%s", command, want, out)
		}
	}
}

// TestNoPriceIsSaidAsSuch: where no price is known of the devices a plan says so, and compares by no price of 0.
func TestNoPriceIsSaidAsSuch(t *testing.T) {
	for flags, want := range map[string]string{
		"":                 "Price:        no price is known of these devices\n",
		"--objective cost": "Price:        no price is known of these devices: the plan takes the fewest device-seconds a token\n",
	} {
		out := ok(t, "", strings.Fields("recommend --model Llama-3.1-8B --device RTX4090 "+flags)...)
		if !strings.Contains(out, want) || strings.Count(out, "Price:") != 1 {
			t.Errorf("%s: no %q in\n%s", flags, want, out)
		}
		for line := range strings.Lines(out) {
			if columns := strings.Fields(line); len(columns) > 2 && columns[0] == "TP2" && columns[2] == "0" {
				t.Errorf("%s: a price of 0 in %s", flags, line)
			}
		}
	}
	if out := ok(t, "", strings.Fields("recommend --model Llama-3.1-8B --device H100 --objective cost")...); strings.Contains(out, "no price") {
		t.Errorf("a known price is not known:\n%s", out)
	}
}

func TestRecommendRefuses(t *testing.T) {
	for command, test := range map[string]struct {
		code int
		want string
	}{
		"":                                   {term.ExitUsage, "no model: name one with --model"},
		"--model Llama-3.1-8B --offline":     {term.ExitUsage, "no device: name one with --device"},
		"--model Llama-3.1-8B --device A100": {term.ExitFailure, "stands for several products"},
		"--model Llama-3.1-8B --device H100 -f x":                                                     {term.ExitUsage, "-f gives the devices"},
		"--model Llama-3.1-8B --memory 80Gi":                                                          {term.ExitUsage, "give all three"},
		"--model Llama-3.1-8B --memory lots --bandwidth 1 --tflops 1":                                 {term.ExitUsage, "--memory lots: give an amount"},
		"--model Llama-3.1-8B --memory 80Gi --bandwidth NaN --tflops 1":                               {term.ExitUsage, "--bandwidth NaN: give GB/s"},
		"--model Llama-3.1-8B --memory 80Gi --bandwidth 1 --tflops -1":                                {term.ExitUsage, "--tflops -1: give TFLOPS"},
		"--model Llama-3.1-8B --device H100 --devices -1":                                             {term.ExitUsage, "-1 devices of a host: give from 1"},
		"--model Llama-3.1-8B --device H100 --nodes 0":                                                {term.ExitUsage, "give from 1 to"},
		"--model Llama-3.1-8B --device H100 --objective fast":                                         {term.ExitUsage, "--objective fast: use one of Latency, Throughput, Cost"},
		"--model Llama-3.1-8B --device H100 --quantization FP7":                                       {term.ExitUsage, "or Auto"},
		"--model Llama-3.1-8B --device H100 --engine llama.cpp":                                       {term.ExitUsage, "use one of"},
		"--model Llama-3.1-8B --device H100 --max-ttft 1us":                                           {term.ExitUsage, "--max-ttft 1µs: give whole milliseconds"},
		"--model Llama-3.1-8B --device H100 --max-sequences 0":                                        {term.ExitUsage, "--max-sequences 0: give at least 1"},
		"--model Llama-3.1-8B --device H100 --total-sequences 5 --concurrency 5":                      {term.ExitUsage, "and no --max-sequences"},
		"--model Llama-3.1-405B --device L4 --devices 1":                                              {term.ExitFailure, "does not fit"},
		"--model Llama-3.1-70B --device H100 --max-tpot 1ms --devices 8 --isl 100 --osl 100 -o table": {term.ExitFailure, "no plan is fast enough\nremedy: "},
	} {
		r := run(t, "", append([]string{"recommend"}, strings.Fields(command)...)...)
		if r.Code != test.code || !strings.Contains(r.Err, test.want) || r.Out != "" {
			t.Errorf("%s: exit code %d, errors %q, output %q; want %d and %q", command, r.Code, r.Err, r.Out, test.code, test.want)
		}
	}
}

// TestRefusalsBeginWithTheReason: the first line is the reason, the second the best remedy.
func TestRefusalsBeginWithTheReason(t *testing.T) {
	input := stream(inventoryOf("a", 1), placement("p", huge, `"quantization":"BF16"`), placement("q", large, `"quantization":"BF16"`))
	r := run(t, input, "plan", "-f", "-")
	lines := strings.Split(r.Err, "\n")
	if !strings.HasPrefix(lines[0], "error: placement default/p: Llama-3.1-405B does not fit: a copy needs ") || !strings.HasSuffix(lines[0], "and 1 free device has 71.1 GiB") {
		t.Errorf("the first line is %q", lines[0])
	}
	if !strings.HasPrefix(lines[1], "remedy: ") || lines[2] != "" {
		t.Errorf("the second line is %q, the third %q", lines[1], lines[2])
	}
	if !strings.Contains(r.Err, "\n\nerror: placement default/q: ") {
		t.Errorf("the second refusal does not stand apart:\n%s", r.Err)
	}
	none := run(t, placement("p", small), "plan", "-f", "-", "--offline").Err
	if !strings.HasPrefix(none, "error: placement default/p: Llama-3.1-8B does not fit: no node has an accelerator\nremedy: give the AcceleratorInventory") {
		t.Errorf("without an inventory: %q", none)
	}
}

// TestPlanInOneLineRefuses: a model in flags and one in a file are one too many.
func TestPlanInOneLineRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inventory.json")
	if err := os.WriteFile(file, []byte(inventoryOf("a", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"a ModelPlacement in the files: give one of them":  {"-f", file, "-f", "-", "--model", "Llama-3.1-8B"},
		"and --model-file: give one of them":               {"-f", file, "--model", "Llama-3.1-8B", "--model-file", "x"},
		"--isl is of --model":                              {"-f", file, "-f", "-", "--isl", "5"},
		"give placements with -f, or a model with --model": {},
	} {
		if r := run(t, placement("p", small), append([]string{"plan"}, args...)...); r.Code != term.ExitUsage || !strings.Contains(r.Err, want) {
			t.Errorf("%v: exit code %d, errors %q; want %q", args, r.Code, r.Err, want)
		}
	}
}

func TestRecommendCompletion(t *testing.T) {
	for want, args := range map[string][]string{
		"Llama-3.1-8B\n": {"--model", "Llama-3.1"}, "NVIDIA H200\n": {"--device", "NVIDIA H"}, "Latency\n": {"--objective", ""}, "NVFP4\n": {"--quantization", ""},
		"SGLang\n": {"--engine", ""}, "explain\n": {"-o", ""},
	} {
		if r := clitest.Run(t, newRoot, "", append([]string{"__complete", "recommend"}, args...)...); r.Code != term.ExitOK || !strings.Contains(r.Out, want) {
			t.Errorf("%v: exit code %d, %q; want %q in it", args, r.Code, r.Out, want)
		}
	}
}

// TestSavedHostsAreEstimated: estimate and train take the devices of a saved inventory, which here are as the catalogue has them.
func TestSavedHostsAreEstimated(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "hosts")
	ok(t, "", "simulate", "--shape", "h100x8=1", "--write", folder)
	written, err := os.ReadDir(folder)
	if err != nil || len(written) != 1 {
		t.Fatal(written, err)
	}
	content, err := os.ReadFile(filepath.Join(folder, written[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"estimate --model Llama-3.3-70B --tp 4 --concurrency 32 -o json", "estimate --model Llama-3.3-70B --tp 8 --pp 2 --network-gbps 100 -o json",
		"train --model Llama-3.1-8B --data 8 --sharding FSDP -o json",
	} {
		args := strings.Fields(command)
		want := ok(t, "", append(args, "--device", "H100", "--network-gbps", "400")...)
		if strings.Contains(command, "--network-gbps") {
			want = ok(t, "", append(args, "--device", "H100")...)
		}
		if diff := cmp.Diff(want, ok(t, string(content), append(args, "-f", "-")...)); diff != "" {
			t.Errorf("%s (-catalogue +inventory):\n%s", command, diff)
		}
	}
	for args, want := range map[string]string{
		"--device L4 -f -":    "has no L4: name what it has, NVIDIA H100 80GB HBM3",
		"--memory 80Gi -f -":  "-f gives the devices",
		"-f " + folder + "/x": "no such file",
	} {
		r := run(t, string(content), append([]string{"estimate", "--model", "Llama-3.1-8B"}, strings.Fields(args)...)...)
		if r.Code == term.ExitOK || !strings.Contains(r.Err, want) {
			t.Errorf("%s: %d, %q; want %q", args, r.Code, r.Err, want)
		}
	}
	misspelt := strings.Replace(string(content), "devices:", "devises:", 1)
	if r := run(t, misspelt, "estimate", "--model", "Llama-3.1-8B", "-f", "-"); r.Code != term.ExitFailure || !strings.Contains(r.Err, "devises") {
		t.Errorf("an unknown field: %d, %q", r.Code, r.Err)
	}
}
