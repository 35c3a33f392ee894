package cost

import (
	"math"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// catalogue calls a function with every model of the catalogue.
func catalogue(t *testing.T, call func(m *model.Model, p *Profile)) {
	t.Helper()
	for _, name := range model.Names() {
		m, err := model.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		call(m, NewProfile(m, Stored(m, v1alpha1.BF16, "")))
	}
}

// TestActiveWeights holds the operators of a profile to the model's own count. What operators leave out are norms, biases
// and convolutions.
func TestActiveWeights(t *testing.T) {
	catalogue(t, func(m *model.Model, p *Profile) {
		got, want := p.weights(p.experts.active), float64(m.ActiveParameters())
		if off := got/want - 1; off > 0 || off < -0.001 {
			t.Errorf("%s: %.6g weights in operators, %.6g active parameters (%+.3f %%)", m.Name, got, want, 100*off)
		}
	})
}

// decodeOperations returns the operations that the profile counts for one decoded token.
func decodeOperations(p *Profile, context float64) float64 {
	sum := 2 * p.weights(p.experts.active)
	for i := range p.mixers {
		sum += p.whole().mixers[i] * p.mixers[i].count(p, p.attention.decode, func(s *span) float64 { return s.seen(context) })
	}
	return sum
}

// promptOperations returns the operations that the profile counts for a prompt.
func promptOperations(p *Profile, tokens float64) float64 {
	sum := 2*(p.weights(p.experts.active)-p.head.all()) + 2*p.head.all()/tokens
	for i := range p.mixers {
		sum += p.whole().mixers[i] * p.mixers[i].count(p, p.attention.prefill, func(s *span) float64 { return s.reach(tokens) })
	}
	return sum*tokens + 2*p.encoder.block.all()*p.encoder.positions + p.encoder.products
}

// count is the operations of a mixer for a token.
func (m *mixer) count(p *Profile, pair float64, seen func(*span) float64) float64 {
	looks := m.fixed
	for i := range m.attended {
		looks += seen(&m.attended[i])
	}
	return m.operations + p.attention.heads*pair*looks + p.attention.index.operations*seen(&m.indexed)
}

// TestOperations holds what the profile computes in decoding and in prefill to the model's own count.
func TestOperations(t *testing.T) {
	catalogue(t, func(m *model.Model, p *Profile) {
		for _, n := range []int64{1, 100, 1000, 8192, 20000, 100000} {
			got, want := promptOperations(p, float64(n)), m.PrefillFLOPs(n)
			if math.Abs(got/want-1) > 0.002 {
				t.Errorf("%s: %.6g operations for a prompt of %d tokens, the model says %.6g", m.Name, got, n, want)
			}
			// The model counts a token at the end of a chunk, which looks at all of it; the profile one in the middle.
			if m.Architecture.Attention.Chunked && n > int64(m.Architecture.Attention.SlidingWindow) {
				continue
			}
			got, want = decodeOperations(p, float64(n)), m.DecodeFLOPs(n)
			if math.Abs(got/want-1) > 0.002 {
				t.Errorf("%s: %.6g operations for a token behind %d, the model says %.6g", m.Name, got, n, want)
			}
		}
	})
}

// TestKindsOfLayers holds how many layers of each kind profiles have, and their classes.
func TestKindsOfLayers(t *testing.T) {
	for _, test := range []struct {
		model  string
		class  Class
		mixers []float64 // in the order of the first layer of each kind
		dense  float64
	}{
		{"Llama-3.1-70B", Dense, []float64{80}, 80},
		{"Gemma-3-27B", Dense, []float64{52, 10}, 62},
		{"GPT-OSS-120B", Mixture, []float64{18, 18}, 0},
		{"DeepSeek-R1", Latent, []float64{61}, 3},
		{"DeepSeek-V4-Flash", Latent, []float64{2, 21, 20}, 0},
		{"Qwen3.5-397B-A17B", Recurrent, []float64{45, 15}, 0},
		{"MiniMax-M1", Recurrent, []float64{70, 10}, 0},
		{"Whisper-large-v3", Dense, []float64{32}, 32},
	} {
		p := profile(t, test.model, v1alpha1.BF16)
		n := p.whole()
		if p.Class() != test.class || len(p.mixers) != len(test.mixers) || n.dense != test.dense || n.dense+n.mixture != p.layers {
			t.Errorf("%s: class %s, %d kinds of mixer, %g dense layers of %g", test.model, p.Class(), len(p.mixers), n.dense, p.layers)
			continue
		}
		for i, want := range test.mixers {
			if n.mixers[i] != want {
				t.Errorf("%s: %g layers of kind %d, want %g", test.model, n.mixers[i], i, want)
			}
		}
	}
}
