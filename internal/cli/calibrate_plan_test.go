package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/site"
)

// chat are the objects of a placement as a cluster prints them: two plans of it, of which the second one is in force, and the inventory of its node.
func chat(t *testing.T) *planning.Manifests {
	t.Helper()
	m, err := planning.ReadManifests([]string{"chat.yaml"}, term.Streams{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// written writes objects into a file, one after the other.
func written(t *testing.T, objects ...any) string {
	t.Helper()
	var text strings.Builder
	for _, o := range objects {
		content, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(content)
		text.WriteString("\n")
	}
	file := filepath.Join(t.TempDir(), "objects.json")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCalibrationOfAPlan takes what a benchmark does not say from the plan that it measured, which is the one in force, the one that is named, or the only one.
func TestCalibrationOfAPlan(t *testing.T) {
	t.Chdir(clitest.Testdata(t, "calibration"))
	m := chat(t)
	plan := &m.Plans[1]
	one := int32(1)
	want := v1alpha1.Measurement{
		Model: "Qwen3-14B", Device: "NVIDIA A100-SXM4-80GB", Engine: "vLLM", Weights: "BF16", KVCacheType: "BF16", Replicas: 1,
		Parallelism: &v1alpha1.Parallelism{Tensor: &one, Pipeline: &one, Data: &one, Expert: &one}, StepLimits: plan.Spec.StepLimits,
		InputTokens: 1996, OutputTokens: 100, Requests: 500, MilliTokensPerSecond: 284640,
	}
	older, copies := want, want
	older.KVCacheType = "FP8"
	copies.Replicas = 2
	many := plan.DeepCopy()
	many.Spec.Strategy.Replicas = 3
	options := plan.DeepCopy()
	options.Spec.Engine, options.Spec.Serving = v1alpha1.EngineSGLang, &v1alpha1.ServingOptions{MemoryUtilizationPercent: 85}
	served := want
	served.Engine, served.Serving = options.Spec.Engine, options.Spec.Serving
	for name, test := range map[string]struct {
		args []string
		want v1alpha1.Measurement
	}{
		"in force":                              {[]string{"-f", "chat.yaml"}, want},
		"said twice":                            {[]string{"-f", "chat.yaml", "--tp", "1", "--model", "Qwen/Qwen3-14B", "--device", "A100 SXM4 80GB", "--kv", "BF16"}, want},
		"named":                                 {[]string{"-f", "chat.yaml", "--plan", "chat-1"}, older},
		"by a flag":                             {[]string{"-f", "chat.yaml", "--kv", "FP8"}, older},
		"in force by its own status":            {[]string{"-f", written(t, m.Plans[0], m.Plans[1], m.Inventories[0])}, want},
		"the only one, without inventories":     {[]string{"-f", written(t, plan), "--device", "NVIDIA A100-SXM4-80GB"}, want},
		"some of its copies":                    {[]string{"-f", written(t, many, m.Inventories[0]), "--replicas", "2"}, copies},
		"another engine than the tool's, tuned": {[]string{"-f", written(t, options, m.Inventories[0])}, served},
	} {
		t.Run(name, func(t *testing.T) {
			got := calibrated(t, today, nil, append([]string{"short.json"}, test.args...)...).Spec.Measurements[0]
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(v1alpha1.Measurement{}, "Source")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCalibrationContradictsAPlan names what is said and what the plan has, and how to put it right.
func TestCalibrationContradictsAPlan(t *testing.T) {
	t.Chdir(clitest.Testdata(t, "calibration"))
	m := chat(t)
	of := func(change func(*v1alpha1.ShardingPlan)) []string {
		plan := m.Plans[1].DeepCopy()
		change(plan)
		return []string{"-f", written(t, plan, m.Inventories[0])}
	}
	same := of(func(*v1alpha1.ShardingPlan) {})
	unlike := m.Inventories[0].DeepCopy()
	unlike.Status.Devices = nil
	for want, args := range map[string][]string{
		"--tp 4: plan chat-2 has 1 in spec.strategy.tensor: leave --tp out":                               append(same, "--tp", "4"),
		"--ep 8: plan chat-2 has 1 in spec.strategy.expert":                                               append(same, "--ep", "8"),
		"--model Qwen3-32B: plan chat-2 has Qwen3-14B in spec.model.name":                                 append(same, "--model", "Qwen3-32B"),
		"--device NVIDIA H100 80GB HBM3: plan chat-2 has NVIDIA A100-SXM4-80GB in spec.nodes[].devices":   append(same, "--device", "H100"),
		"--engine SGLang: plan chat-2 has vLLM in spec.engine":                                            append(same, "--engine", "sglang"),
		"--weights FP8: plan chat-2 has BF16 in spec.quantization":                                        append(same, "--weights", "fp8"),
		"--kv FP8: plan chat-2 has BF16 in spec.kvCacheType":                                              append(same, "--kv", "fp8"),
		"--replicas 2: plan chat-2 has 1 in spec.strategy.replicas":                                       append(same, "--replicas", "2"),
		"it says Qwen3-14B for --model, and plan chat-2 has Qwen3-32B in spec.model.name: give the plan":  of(func(p *v1alpha1.ShardingPlan) { p.Spec.Model.Name = "Qwen3-32B" }),
		"its requests have 2096 tokens, and plan chat-2 has 1024 in spec.stepLimits.length":               of(func(p *v1alpha1.ShardingPlan) { p.Spec.StepLimits.Length = 1024 }),
		"plan chat-2: strategy.context 2: estimates know no context parallelism":                          of(func(p *v1alpha1.ShardingPlan) { p.Spec.Strategy.Context = 2 }),
		"plan chat-2: strategy.decodeContext 2":                                                           of(func(p *v1alpha1.ShardingPlan) { p.Spec.Strategy.DecodeContext = 2 }),
		"plan chat-2: training: the plan trains Qwen3-14B":                                                of(func(p *v1alpha1.ShardingPlan) { p.Spec.Training = &v1alpha1.TrainingWorkload{} }),
		"plan chat-2: otherShapes: copies run as":                                                         of(func(p *v1alpha1.ShardingPlan) { p.Spec.OtherShapes = make([]v1alpha1.PlanShape, 1) }),
		`plan chat-2: model "mine" is not in the catalogue`:                                               of(func(p *v1alpha1.ShardingPlan) { p.Spec.Model.Name = "mine" }),
		"which the node's inventory lacks":                                                                {"-f", written(t, m.Plans[1], unlike)},
		"add --device, or -f with the ShardingPlan and the inventories of its nodes":                      {"-f", written(t, m.Plans[1])},
		"it may be of any of 2 plans: name one with --plan: chat-1, chat-2":                               {"-f", written(t, m.Plans[0], withoutStatus(&m.Plans[1]), m.Inventories[0])},
		"--plan chat-3: no such ShardingPlan among the 2 in the files of -f: give one of them, or add it": {"-f", "chat.yaml", "--plan", "chat-3"},
		"-f: 2 SiteCalibrations in the files: give the one to add to":                                     {"-f", written(t, kept("a"), kept("b"))},
	} {
		if _, errs, code := runAt(t, today, nil, append([]string{"calibrate", "short.json"}, args...)...); code == term.ExitOK || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d, %q, want %q", args, code, errs, want)
		}
	}
}

func withoutStatus(plan *v1alpha1.ShardingPlan) *v1alpha1.ShardingPlan {
	plan = plan.DeepCopy()
	plan.Status.Conditions = nil
	return plan
}

func kept(name string) *v1alpha1.SiteCalibration {
	c := &v1alpha1.SiteCalibration{}
	c.APIVersion, c.Kind, c.Name = v1alpha1.GroupVersion.String(), "SiteCalibration", name
	return c
}

// TestLengthsOfAPlacement takes the lengths of requests from the placement where a result does not say them, and else refuses it.
func TestLengthsOfAPlacement(t *testing.T) {
	t.Chdir(clitest.Testdata(t, "calibration"))
	m := chat(t)
	result := filepath.Join(t.TempDir(), "result.json")
	if err := os.WriteFile(result, []byte(`{"model_id": "chat", "backend": "openai", "completed": 100, "total_input_tokens": 0, "total_output_tokens": 0, "output_throughput": 100}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got := calibrated(t, today, nil, result, "-f", "chat.yaml").Spec.Measurements[0]
	if got.InputTokens != 2000 || got.OutputTokens != 200 || got.Model != "Qwen3-14B" {
		t.Errorf("%+v", got)
	}
	_, errs, code := runAt(t, today, nil, "calibrate", result, "-f", written(t, m.Plans[1], m.Inventories[0]))
	if code == term.ExitOK || !strings.Contains(errs, "the file does not say how long requests are: add -f with the ShardingPlan and its ModelPlacement") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

// TestMetricsOfAPlan holds that what is measured of a plan's engine at just the load of its placement is compared with just the estimate that the plan has.
func TestMetricsOfAPlan(t *testing.T) {
	recorded, err := filepath.Abs(filepath.Join("..", "..", "pkg", "site", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(clitest.Testdata(t, "calibration"))
	m := chat(t)
	placement := m.Placements[0].DeepCopy()
	input, output := int32(1024), int32(512)
	placement.Spec.Workload.Inference.InputTokens, placement.Spec.Workload.Inference.OutputTokens = &input, &output
	placement.Spec.Workload.Inference.Serving = &v1alpha1.ServingOptions{MaxBatchedTokens: 4096, PrefixCache: &v1alpha1.PrefixCache{HitPercent: 50}}
	file := written(t, placement, m.Inventories[0])
	made := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(made, []byte(ok(t, "", "plan", "-f", file, "-o", "json")), 0o600); err != nil {
		t.Fatal(err)
	}
	scrapes := []string{"vllm-metrics-before.txt", "vllm-metrics-after.txt"}
	get := func(context.Context, string) ([]byte, error) {
		name := scrapes[0]
		scrapes = scrapes[1:]
		return os.ReadFile(filepath.Join(recorded, name))
	}
	got := calibrated(t, today, get, "--metrics", "http://chat/metrics", "-f", made, "-f", file).Spec.Measurements[0]
	if got.Concurrency != 32 || got.MaxModelLen != 40960 || got.Serving == nil || got.StepLimits == nil || got.StepLimits.Tokens != 4096 {
		t.Fatalf("%+v", got)
	}
	got.Requests = 0
	a, err := site.Estimate(&got, nil)
	if err != nil {
		t.Fatal(err)
	}
	read, err := planning.ReadManifests([]string{made}, term.Streams{})
	if err != nil {
		t.Fatal(err)
	}
	want := read.Plans[0].Spec.Estimate
	if near := func(got float64, want int64) bool { return got > 0.99*float64(want) && got < 1.01*float64(want) }; !near(*a.TPOTMillis*1e3, want.TPOTMicros.Value) ||
		!near(*a.TTFTMillis, want.TTFTMillis.Value) || !near(*a.OutputTokensPerSecond, want.TokensPerSecond.Value) {
		t.Errorf("%.1f ms, %.1f ms and %.0f tokens/s; the plan has %+v", *a.TTFTMillis, *a.TPOTMillis, *a.OutputTokensPerSecond, want)
	}
}
