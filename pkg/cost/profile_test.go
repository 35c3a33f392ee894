package cost

import (
	"math"
	"testing"

	"pgregory.net/rapid"

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
// and convolutions, which are most of small models and of those with a state for each channel.
func TestActiveWeights(t *testing.T) {
	catalogue(t, func(m *model.Model, p *Profile) {
		got, want := p.weights(p.experts.active), float64(m.ActiveParameters())
		if off := got/want - 1; off > 0 || off < -0.003 {
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

// TestOperations holds what the profile computes to sums by hand: two operations for each weight, and for each head and token
// that it looks at two for each value of a key and of a value vector.
func TestOperations(t *testing.T) {
	of := func(name string) *Profile { return profile(t, name, v1alpha1.BF16) }
	llama, mistral, deepseek, sparse := of("Llama-3.1-8B"), of("Mistral-7B-v0.1"), of("DeepSeek-V3"), of("DeepSeek-V3.2")
	next, whisper, scout := of("Qwen3-Next-80B-A3B"), of("Whisper-large-v3-turbo"), of("Llama-4-Scout-17B-16E")
	v4 := of("DeepSeek-V4-Flash")
	weights := func(p *Profile) float64 { return 2 * p.weights(p.experts.active) }
	head := func(p *Profile) float64 { return 2 * p.head.all() }
	for name, test := range map[string]struct{ got, want float64 }{
		"decode":                  {decodeOperations(llama, 1000), weights(llama) + 32*4*32*128*1000},
		"decode of the first":     {decodeOperations(llama, 0), weights(llama)},
		"decode in a window":      {decodeOperations(mistral, 10000), weights(mistral) + 32*4*32*128*4096},
		"decode in chunks":        {decodeOperations(scout, 10000), weights(scout) + 4*40*128*(36*4096+12*10000)},
		"decode of a latent":      {decodeOperations(deepseek, 100), weights(deepseek) + 61*2*128*(512+64+512)*100},
		"decode of chosen tokens": {decodeOperations(sparse, 5000), weights(sparse) + 61*(2*128*(512+64+512)*2048+2*64*128*5000)},
		"decode with a state":     {decodeOperations(next, 100), weights(next) + 12*4*16*256*100 + 36*6*32*128*128},
		"decode with an encoder":  {decodeOperations(whisper, 10), weights(whisper) + 4*4*20*64*(10+1500)},
		"decode of runs":          {decodeOperations(v4, 12800), weights(v4) + 4*64*512*(43*128+21*512+20*100) + 21*2*64*128*3200},
		"prefill":                 {promptOperations(llama, 100), (weights(llama)-head(llama))*100 + head(llama) + 32*4*32*128*5050},
		"prefill in a window":     {promptOperations(mistral, 4098) - promptOperations(mistral, 4097), weights(mistral) - head(mistral) + 32*4*32*128*4096},
		"prefill of a latent":     {promptOperations(deepseek, 2) - promptOperations(deepseek, 1), weights(deepseek) - head(deepseek) + 61*2*128*(128+64+128)*2},
		"prefill in chunks":       {promptOperations(scout, 8193) - promptOperations(scout, 8192), weights(scout) - head(scout) + 4*40*128*(36*1+12*8193)},
	} {
		if math.Abs(test.got/test.want-1) > 1e-9 {
			t.Errorf("%s: %.9g operations, want %.9g", name, test.got, test.want)
		}
	}
}

// TestReachIsTheMeanOverTokens compares the closed form with a sum over the tokens of a prompt.
func TestReachIsTheMeanOverTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, per := rapid.IntRange(0, 40).Draw(t, "limit"), rapid.IntRange(1, 4).Draw(t, "per")
		s := span{limit: float64(limit), per: float64(per), chunked: rapid.Bool().Draw(t, "chunked")}
		tokens := rapid.IntRange(1, 200).Draw(t, "tokens")
		sum := 0
		for i := range tokens {
			seen := i + 1
			if limit > 0 && s.chunked {
				seen = i%limit + 1
			} else if limit > 0 {
				seen = min(seen, limit)
			}
			sum += seen
		}
		if got, want := s.reach(float64(tokens)), float64(sum)/float64(tokens*per); math.Abs(got/want-1) > 1e-9 {
			t.Fatalf("%+v, %d tokens: %g in the mean, want %g", s, tokens, got, want)
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
