package model

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

const towerText = `"text_config":{"model_type":"llama","hidden_size":64,"num_hidden_layers":1,"num_attention_heads":4,"vocab_size":100,"intermediate_size":128},"torch_dtype":"bfloat16"`

// TestTowersAreNeverSilent: an encoder is counted, or the answer says that it is not, and why.
func TestTowersAreNeverSilent(t *testing.T) {
	for config, want := range map[string]string{
		`"model_type":"llava","vision_config":{"model_type":"clip_vision_model","hidden_size":32,"num_hidden_layers":2,"intermediate_size":64,"image_size":28,"patch_size":14}`: "vision_config is counted with",
		`"model_type":"newvl","vision_config":{"model_type":"new_vit","hidden_size":32,"num_hidden_layers":2,"intermediate_size":64}`:                                           `the kind of the encoder (newvl) is not known`,
		`"model_type":"newvl","vision_config":{"hidden_size":32,"num_hidden_layers":2}`:                                                                                         "intermediate_size is not given",
		`"model_type":"newvl","vision_config":{"model_type":"new_vit"}`:                                                                                                         "vision_config does not say how large the encoder is: it is not counted",
		`"model_type":"newvl","audio_config":{"d_model":32,"encoder_layers":2,"encoder_ffn_dim":64}`:                                                                            "audio_config is counted with",
	} {
		m, err := FromConfig("x", []byte("{"+config+","+towerText+"}"))
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		if all := strings.Join(m.Assumptions, "\n"); !strings.Contains(all, want) {
			t.Errorf("%s: assumptions %q, want one with %q", config, all, want)
		}
		if counted := strings.Contains(want, "not counted"); counted == (m.Architecture.OtherParameters > 0) {
			t.Errorf("%s: %d parameters beside the language model", config, m.Architecture.OtherParameters)
		}
	}
}

// TestTowersAreOnEveryRankOfTheFirstStage: they keep 16 bits, and no rank shares them.
func TestTowersAreOnEveryRankOfTheFirstStage(t *testing.T) {
	m := mustLookup(t, "Qwen2.5-VL-7B")
	text := *m
	text.Architecture.OtherParameters = 0
	for _, p := range []v1alpha1.Precision{v1alpha1.BF16, v1alpha1.INT4} {
		for _, ranks := range []int{1, 4} {
			if got, want := m.EmbeddingBytesPerRank(ranks, p)-text.EmbeddingBytesPerRank(ranks, p), int64(2*676_550_144); got != want {
				t.Errorf("%d ranks in %s: %d bytes, want %d", ranks, p, got, want)
			}
		}
	}
}

// TestModelsByCountSaySo: an entry without an architecture has the numbers that were stated, and says that the rest is made up.
func TestModelsByCountSaySo(t *testing.T) {
	m := mustLookup(t, "Ling-3.0-flash")
	active, total := float64(m.ActiveParameters())/5.5e9, float64(m.Parameters())/124e9
	if !m.Synthetic || active < 0.9 || active > 1.15 || total < 1 || total > 1.05 || m.Architecture.MoE == nil || m.Architecture.MaxContext != 262144 {
		t.Errorf("synthetic %v, %.2f of the active, %.2f of all parameters: %+v", m.Synthetic, active, total, m.Architecture)
	}
	if all := strings.Join(m.Assumptions, "\n"); !strings.Contains(all, "the publisher states (124B, of which a token visits 5.5B)") {
		t.Errorf("assumptions %q", all)
	}
	found, _, err := Find("inclusionAI/Ling-3.0-flash-fp8")
	if err != nil || len(found.Assumptions) == 0 {
		t.Errorf("found as %v, %v: it says nothing of its architecture", found, err)
	}
}
