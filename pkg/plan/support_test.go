package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// TestEngineWhereItRuns: devices that the engine does not run on offer nothing, and where there are no others the refusal names the
// engine, the device and an engine that runs there, which is planned before it is told.
func TestEngineWhereItRuns(t *testing.T) {
	v5e := plantest.V5p
	v5e.Name, v5e.MiB = "TPU v5e (v5 lite)", 16384
	on := func(p plantest.Product) fleet.Node { return plantest.Host("other", true, plantest.Times8(p)...) }
	full := v1alpha1.TrainingWorkload{SequenceLength: 2048, GlobalBatch: 8, Sharding: "ZeRO3"}
	for name, c := range map[string]struct {
		node    fleet.Node
		change  func(*plantest.Spec)
		says    string
		instead string // the first suggestion
	}{
		"TensorRT-LLM on AMD":    {on(plantest.Mi300x), plantest.EngineOf("TensorRT-LLM"), "Engine TensorRT-LLM: it does not run on AMD Instinct MI300X of amd (https://", "engine vLLM instead of TensorRT-LLM"},
		"TensorRT-LLM on TPU":    {on(plantest.V5p), plantest.EngineOf("TensorRT-LLM"), "it does not run on TPU v5p of google", "engine vLLM instead of TensorRT-LLM"},
		"SGLang on TPU v5e":      {on(v5e), plantest.EngineOf("SGLang"), "it does not run on TPU v5e (v5 lite) of google", "engine vLLM instead of SGLang"},
		"Megatron on TPU":        {on(plantest.V5p), func(s *plantest.Spec) { plantest.Train(full)(s); s.Engine = "Megatron" }, "it does not run on TPU v5p of google", "engine Torch instead of Megatron"},
		"no kernels for NVFP4":   {on(plantest.V5p), plantest.Format("NVFP4"), "Engine vLLM: it runs no weights in NVFP4 on TPU v5p of google (https://docs.vllm.ai/", ""},
		"no kernels for a cache": {on(plantest.T4), plantest.Format("MXFP4"), "it runs no weights in MXFP4 on Tesla T4 of nvidia", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var no *Unplaceable
			_, err := Plan(fleet.NewCluster([]fleet.Node{c.node}), ask(plantest.Llama(t, 8), 4096, 4, c.change))
			if !errors.As(err, &no) || no.Reason != shape.ReasonUnsupported || len(no.Rejected) > 0 || !strings.Contains(no.Message, " does not run on the devices") ||
				!strings.Contains(no.Message, c.says) {
				t.Fatalf("got %v, want Unsupported with %q", err, c.says)
			}
			if err := no.Advised(t.Context()); !errors.As(err, &no) {
				t.Fatal(err)
			}
			if got := bestOf(no); c.instead != "" && got != c.instead {
				t.Errorf("suggested %q, want %q", got, c.instead)
			}
			both := fleet.NewCluster([]fleet.Node{c.node, plantest.Host("runs", true, plantest.Times8(plantest.H100)...)})
			spec := mustPlan(t, both, ask(plantest.Llama(t, 8), 4096, 4, c.change))
			for _, row := range spec.Nodes {
				if row.Node != "runs" {
					t.Errorf("planned on node %s", row.Node)
				}
			}
		})
	}
}

// TestNothingIsBF16WithoutIt: on a device that does not compute BF16 neither weights nor cache are in it.
func TestNothingIsBF16WithoutIt(t *testing.T) {
	cluster := fleet.NewCluster([]fleet.Node{plantest.Host("a", false, plantest.Many(2, plantest.T4)...)})
	for _, format := range []v1alpha1.Quantization{v1alpha1.QuantizationAuto, "FP16", "INT8", "INT4", "FP8"} {
		spec := mustPlan(t, cluster, ask(plantest.Llama(t, 8), 1024, 2, plantest.Format(format)))
		if spec.Quantization == v1alpha1.BF16 || spec.KVCacheType != v1alpha1.FP16 || spec.ComputeType == v1alpha1.BF16 {
			t.Errorf("%s: weights in %s, cache in %s, computed in %s", format, spec.Quantization, spec.KVCacheType, spec.ComputeType)
		}
	}
	for _, change := range []func(*plantest.Spec){plantest.Format("BF16"), func(s *plantest.Spec) { s.KVCacheType = "BF16" }} {
		if spec, err := Plan(cluster, ask(plantest.Llama(t, 8), 1024, 2, change)); err == nil {
			t.Errorf("planned with weights in %s and a cache in %s", spec.Quantization, spec.KVCacheType)
		}
	}
}

// TestAutoRunsWhatItPicks: of the formats that nobody asked for, none is taken that the engine has no kernels for.
func TestAutoRunsWhatItPicks(t *testing.T) {
	gaudi := plantest.Mi300x
	gaudi.Vendor, gaudi.Name, gaudi.Family, gaudi.MiB = "intel", "HL-325L (Gaudi3 OAM)", v1alpha1.FamilyASIC, 131072
	for _, c := range []struct {
		product plantest.Product
		engine  v1alpha1.Engine
		model   string // published in FP8 and INT4, or in INT8
		gib     int64  // of a device: so little that 16 bits do not fit
		want    v1alpha1.Precision
	}{
		{gaudi, v1alpha1.EngineVLLM, "Qwen3-32B", 48, v1alpha1.FP8},
		{gaudi, v1alpha1.EngineVLLM, "Qwen3-32B", 28, v1alpha1.INT4},
		{plantest.A100, v1alpha1.EngineTensorRTLLM, "Qwen3-32B", 48, v1alpha1.INT4},
		{plantest.V5p, v1alpha1.EngineVLLM, "Llama-3.1-70B", 90, v1alpha1.INT8},
	} {
		c.product.MiB = c.gib << 10
		spec := mustPlan(t, fleet.NewCluster([]fleet.Node{plantest.Host("a", false, c.product)}), ask(published(t, c.model), 512, 1, plantest.EngineOf(c.engine)))
		if spec.Quantization != c.want {
			t.Errorf("%s on %s with %d GiB: %s, want %s", c.engine, c.product.Name, c.gib, spec.Quantization, c.want)
		}
	}
}
