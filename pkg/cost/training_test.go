package cost

import (
	"math"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// idealTraining are constants with which matrices, attention and exchanges reach their peaks and nothing else takes time.
func idealTraining() TrainingConstants {
	return TrainingConstants{Matrices16: 1, Matrices8: 1, ScoresShare: 1, ExchangeShare: 1}
}

// gpt is a model of 4 layers of 1024 with a vocabulary of 2048, whose layers have 12 x 1024^2 weights.
func gpt(t *testing.T) *Profile {
	t.Helper()
	m, err := model.FromArchitecture("GPT", v1alpha1.Architecture{
		Layers: 4, HiddenSize: 1024, VocabSize: 2048, Attention: v1alpha1.Attention{Heads: 16, KVHeads: 16, HeadDim: 64}, MLP: v1alpha1.MLP{IntermediateSize: 4096, Ungated: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return NewProfile(m, Stored(m, v1alpha1.BF16, v1alpha1.BF16))
}

// The device that steps are computed for by hand, 100 TFLOPS in 16 bits and 200 in FP8, and what a token of the model takes.
const (
	peak16, peak8             = 100e12, 200e12
	layerWeights, wordWeights = 12. * 1024 * 1024, 2048. * 1024
	tokens, products          = 2048., 4. * 4 * 1024 * 2048 // of 4 layers
)

func byHand(t *testing.T, with func(*Training)) *Training {
	t.Helper()
	d := Device{Bandwidth: math.Inf(1), Link: 400e9, Network: 50e9}
	d.peak[bits16], d.peak[bits8] = peak16, peak8
	job := &Training{Profile: gpt(t), Device: &d, Batch: 8, MicroBatch: 1, Sequence: tokens}
	with(job)
	return job
}

func equal(got, want float64) bool { return math.Abs(got-want) <= 1e-9*math.Abs(want) }

// TestTrainingByHand holds steps to their arithmetic.
func TestTrainingByHand(t *testing.T) {
	const head, all = 6 * wordWeights * tokens / peak16, 2 * 4 * layerWeights * tokens / peak16 // a pass through the layers
	const scores = products * tokens / peak16
	const pass = 3*all + head + 3.5*scores
	const weights = 4*layerWeights + wordWeights
	for name, c := range map[string]struct {
		with      func(*Training)
		constants func(*TrainingConstants)
		want      float64
	}{
		"plain":     {want: 8 * pass},
		"frozen":    {with: func(j *Training) { j.Frozen = true }, want: 8 * (2*all + head*2/3 + 3.5*scores)},
		"full":      {with: func(j *Training) { j.Recompute = "Full" }, want: 8 * (pass + all + scores)},
		"selective": {with: func(j *Training) { j.Recompute = "Selective" }, want: 8 * (pass + all*8/12)},
		"full with FSDP, which stops before the last matrix": {
			with: func(j *Training) { j.Recompute, j.Sharding = "Full", "FSDP" }, want: 8 * (pass + all*8/12 + scores),
		},
		"FP8":               {with: func(j *Training) { j.FP8 = true }, want: 8 * (pass - 3*all/2)},
		"FP8 without rates": {with: func(j *Training) { j.FP8, j.Device.peak[bits8] = true, 0 }, want: 8 * pass},
		"scores that are kept": {
			with: func(j *Training) { j.Plain, j.Device.Bandwidth = true, 1e12 }, constants: func(c *TrainingConstants) { c[ScoreTraffic] = 4 },
			want: 8*(3*all+head+3*scores+4*2*4*16*tokens*2*tokens/1e12) + weights*28/1e12,
		},
		"traffic": {
			with: func(j *Training) { j.Device.Bandwidth = 1e12 }, constants: func(c *TrainingConstants) { c[StreamTraffic], c[WordTraffic] = 2, 10 },
			want: 8*(pass+tokens*2*(3*2*4*(4+12)*1024+10*2048)/1e12) + weights*28/1e12,
		},
		"traffic of FP8": {
			with: func(j *Training) { j.FP8, j.Device.Bandwidth = true, 1e12 }, constants: func(c *TrainingConstants) { c[StreamTraffic] = 2 },
			want: 8*(pass-3*all/2+tokens*2*(3*2+3)*4*(4+12)*1024/1e12) + weights*28/1e12,
		},
		"traffic on 4 tensor ranks": {
			with: func(j *Training) { j.Device.Bandwidth, j.Device.Link, j.Strategy.Tensor = 1e12, math.Inf(1), 4 }, constants: func(c *TrainingConstants) { c[StreamTraffic] = 2 },
			want: 8*(pass/4+tokens*2*3*2*4*(4+12/4.)*1024/1e12) + weights/4*28/1e12,
		},
		"traffic where 4 tensor ranks share out tokens": {
			with: func(j *Training) {
				j.Device.Bandwidth, j.Device.Link, j.Strategy.Tensor, j.SequenceParallel = 1e12, math.Inf(1), 4, true
			},
			constants: func(c *TrainingConstants) { c[StreamTraffic] = 2 },
			want:      8*(pass/4+tokens*2*3*2*4*(4+12)/4.*1024/1e12) + weights/4*28/1e12,
		},
		"tensor ranks": {
			with:      func(j *Training) { j.Strategy.Tensor, j.Recompute = 4, "Full" },
			constants: func(c *TrainingConstants) { c[ExchangeSeconds] = 1e-5 },
			want:      8 * ((pass+all+scores)/4 + 4*3*2*(2e-5+2*3/4.*tokens*1024*2/400e9)),
		},
		"stages": {
			with: func(j *Training) { j.Strategy.Pipeline = 2 }, want: (8 + 1) * (pass/2 + head/2 + 2*tokens*1024*2/50e9),
		},
		"stages of two runs": {
			with: func(j *Training) { j.Strategy.Pipeline, j.Virtual = 2, 2 }, want: (8 + 0.5) * (pass/2 + head/2 + 2*2*tokens*1024*2/50e9),
		},
		"replicas": {
			with: func(j *Training) { j.Replicas, j.Local = 4, 4 }, want: 2*pass + 2*3/4.*2*weights/400e9,
		},
		"replicas on hosts of two": {
			with: func(j *Training) { j.Replicas, j.Local = 4, 2 }, want: 2*pass + 2*3/4.*2*weights/100e9,
		},
		"replicas, half of whose exchange is hidden": {
			with: func(j *Training) { j.Replicas, j.Local = 4, 4 }, constants: func(c *TrainingConstants) { c[Overlap] = 0.5 },
			want: 2*pass + 3/4.*2*weights/400e9,
		},
		"gradients in shares": {
			with: func(j *Training) { j.Replicas, j.Local, j.Sharding = 4, 4, "ZeRO2" }, want: 2*(pass+3/4.*2*weights/400e9) + 3/4.*2*weights/400e9,
		},
		"weights in shares": {
			with: func(j *Training) { j.Replicas, j.Local, j.Sharding = 4, 4, "ZeRO3" }, want: 2 * (pass + 3*3/4.*2*weights/400e9),
		},
		"weights in shares, gathers hidden": {
			with:      func(j *Training) { j.Replicas, j.Local, j.Sharding, j.Device.Link = 4, 4, "FSDP", 400e12 },
			constants: func(c *TrainingConstants) { c[Overlap] = 1 }, want: 2 * pass,
		},
		"frozen weights in shares": {
			with: func(j *Training) { j.Replicas, j.Local, j.Sharding, j.Frozen = 4, 4, "FSDP", true },
			want: 2 * (2*all + head*2/3 + 3.5*scores + 2*3/4.*2*weights/400e9),
		},
	} {
		constants := idealTraining()
		if c.constants != nil {
			c.constants(&constants)
		}
		job := byHand(t, func(j *Training) {
			if c.with != nil {
				c.with(j)
			}
		})
		if got := job.Step(&constants); !equal(got, c.want) {
			t.Errorf("%s: %g s, by hand %g", name, got, c.want)
		}
	}
}

// TestContextByHand holds context ranks to their share of the tokens, and to passing keys and values of 8 heads of 128 on
// to the others in each of the 32 layers: once forward, and with their gradients backward.
func TestContextByHand(t *testing.T) {
	c := idealTraining()
	job := Training{
		Profile: profile(t, "Llama-3.1-8B", v1alpha1.BF16), Device: product(t, "NVIDIA H200"), Batch: 4, MicroBatch: 1, Sequence: 65536,
		Frozen: true, ContextRate: 4e11,
	}
	alone := job.Step(&c)
	for _, context := range []int{2, 4, 8} {
		job.Context = context
		n := float64(context)
		sent := 4 * 3 * 32 * (n - 1) * 65536 / n * 8 * 2 * 128 * 2 / 4e11
		if want := alone/n + sent; !equal(job.Step(&c), want) {
			t.Errorf("context %d: %g s, want %g", context, job.Step(&c), want)
		}
	}
	job.ContextRate = math.Inf(1)
	if err := job.Check(); err == nil || !strings.Contains(err.Error(), "contextRate") {
		t.Errorf("an infinite rate: %v", err)
	}
}

// TestExpertsExchangeTokens: expert ranks send each token to its experts and back, in both passes.
func TestExpertsExchangeTokens(t *testing.T) {
	c := idealTraining()
	job := Training{
		Profile: profile(t, "Mixtral-8x7B-v0.1", v1alpha1.BF16), Device: product(t, "NVIDIA H200"), Replicas: 4, Local: 4, Batch: 4, MicroBatch: 1, Sequence: 4096,
	}
	alone := job.Break(&c)
	job.Strategy.Expert = 4
	apart := job.Break(&c)
	want := 2 * 2 * 32 * 3 / 4. * 4096 * 2 * 4096 * 2 / job.Device.Link
	if got := apart.Collectives - alone.Collectives; !equal(got, want) {
		t.Errorf("%g s, by hand %g", got, want)
	}
	if apart.Reduce >= alone.Reduce {
		t.Errorf("gradients of a quarter of the experts take %g s, of all %g", apart.Reduce, alone.Reduce)
	}
}

// TestLaunchesOfExperts: a rank starts kernels for each of its experts in each layer and pass.
func TestLaunchesOfExperts(t *testing.T) {
	c := idealTraining()
	c[ExpertSeconds] = 1e-4
	job := Training{
		Profile: profile(t, "Mixtral-8x7B-v0.1", v1alpha1.BF16), Device: product(t, "NVIDIA H200"), Replicas: 4, Local: 4, Batch: 4, MicroBatch: 1, Sequence: 4096,
	}
	for _, experts := range []int{1, 2, 4} {
		job.Strategy.Expert = experts
		if got, want := job.Break(&c).Launches, 3*32*8/float64(experts)*1e-4; !equal(got, want) {
			t.Errorf("%d expert ranks: %g s, by hand %g", experts, got, want)
		}
	}
}

// TestFusedAttention: cuDNN's attention is faster where FlashAttention 2 is not made for the device, and as fast elsewhere.
func TestFusedAttention(t *testing.T) {
	c := idealTraining()
	for name, faster := range map[string]float64{"NVIDIA H200": 1.6, "NVIDIA A100-SXM4-80GB": 1} {
		job := Training{Profile: profile(t, "Llama-3.1-8B", v1alpha1.BF16), Device: product(t, name), Batch: 4, MicroBatch: 1, Sequence: 4096}
		plain := job.Break(&c)
		job.Fused = true
		if got := job.Break(&c); !equal(got.Attention*faster, plain.Attention) {
			t.Errorf("%s: %g s, want %g / %g", name, got.Attention, plain.Attention, faster)
		}
	}
}

// TestExpertsAreReducedOverTheirCopies: with eight expert ranks in each island of eight, the same experts are in one rank of each island, so that their gradients
// cross the network alone, while those of the rest cross it in the parts of all eight.
func TestExpertsAreReducedOverTheirCopies(t *testing.T) {
	c := idealTraining()
	device := *product(t, "NVIDIA H200")
	device.Network = 50e9
	job := Training{
		Profile: profile(t, "Mixtral-8x7B-v0.1", v1alpha1.BF16), Device: &device, Replicas: 32, Local: 8, Batch: 32, MicroBatch: 1, Sequence: 4096,
		Strategy: Strategy{Expert: 8}, Plain: true,
	}
	experts := 32 * 3 * 4096. * 14336
	rest := job.held(job.Strategy.degrees()) - experts
	want := 2 * 2 * (31/32.*rest/400e9 + 3/4.*experts/50e9)
	if got := job.Break(&c); !equal(got.Reduce, want) || !equal(got.ReduceRate*got.Reduce, 2*2*(31/32.*rest+3/4.*experts)) {
		t.Errorf("%g s at %g bytes per second, by hand %g s", got.Reduce, got.ReduceRate, want)
	}
}

// TestLaunchesOfMixtures holds what a mixture adds to the launches of training to what was fitted to serving.
func TestLaunchesOfMixtures(t *testing.T) {
	base := builtIn(t).Base
	if got := math.Exp(base[MixtureSeconds] - base[LayerSeconds]); math.Abs(got-mixtureLaunches) > 0.05 {
		t.Errorf("a mixture adds %.3f launches of a layer in serving, and %g in training", got, mixtureLaunches)
	}
}

// TestTrainingConstantsAreSane holds the fitted constants to what they can be.
func TestTrainingConstantsAreSane(t *testing.T) {
	c := builtIn(t).Training()
	for _, architecture := range []string{"Ampere", "Hopper", "Blackwell", "unknown"} {
		values := c.Constants(architecture)
		for _, share := range []TrainingConstant{Matrices16, Matrices8, ScoresShare, ExchangeShare, Overlap} {
			if v := values[share]; v < 0.2 || v > 1 {
				t.Errorf("%s: %s is %g", architecture, share, v)
			}
		}
	}
	for i, spread := range c.Spreads {
		if spread < 0.03 || spread > 1 || i > 0 && spread < c.Spreads[i-1] {
			t.Errorf("spreads %v", c.Spreads)
		}
	}
	data, err := FormatTraining(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseTraining(data); err != nil {
		t.Error(err)
	}
	if _, err := parseTraining([]byte(strings.Replace(string(data), "overlap", "overlaid", 1))); err == nil {
		t.Error("constants of another version are read")
	}
}
