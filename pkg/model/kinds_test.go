package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestKindsOfLayers: what each of the first layers keeps.
func TestKindsOfLayers(t *testing.T) {
	const full, window, recurrent, bare, latent = FullLayer, WindowLayer, RecurrentLayer, BareLayer, LatentLayer
	for name, want := range map[string][]LayerKind{
		"Nemotron-3-Nano-30B-A3B": {recurrent, bare, recurrent, bare, recurrent, full, bare},
		"Jamba-v0.1":              {recurrent, recurrent, recurrent, recurrent, full, recurrent},
		"Kimi-Linear-48B-A3B":     {recurrent, recurrent, recurrent, latent, recurrent},
		"LFM2-1.2B":               {recurrent, recurrent, full, recurrent},
		"MiMo-V2-Flash":           {full, window, window, window, window, full},
		"Laguna-XS.2":             {full, window, window, window, full},
		"Gemma-4-31B":             {window, window, window, window, window, full},
		"Mamba-2.8B":              {recurrent, recurrent},
	} {
		m := mustLookup(t, name)
		var got []LayerKind
		for layer := range want {
			got = append(got, m.LayerKind(layer))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestWhatNewKindsKeep counts by hand what layers keep of a sequence of 1000 tokens in 16 bits.
func TestWhatNewKindsKeep(t *testing.T) {
	falcon, err := FromConfig("Falcon-H1", []byte(`{"model_type":"falcon_h1","hidden_size":1024,"num_hidden_layers":4,"num_attention_heads":8,"num_key_value_heads":2,"head_dim":64,"intermediate_size":2048,"vocab_size":1000,"mamba_n_heads":24,"mamba_d_head":64,"mamba_d_state":128,"mamba_n_groups":1,"mamba_d_conv":4,"torch_dtype":"bfloat16"}`))
	if err != nil {
		t.Fatal(err)
	}
	const mamba2 = 24*64*128*4 + (24*64+2*128)*3*2
	for name, c := range map[string]struct {
		m           *Model
		layer       int
		ranks, want int64
	}{
		"a state for each head":                {mustLookup(t, "Nemotron-3-Nano-30B-A3B"), 0, 1, 64*64*128*4 + (64*64+2*8*128)*3*2},
		"groups repeated where ranks are more": {mustLookup(t, "Nemotron-3-Nano-30B-A3B"), 0, 16, 4*64*128*4 + (4*64+2*128)*3*2},
		"a block alone":                        {mustLookup(t, "Nemotron-3-Nano-30B-A3B"), 1, 1, 0},
		"a state for each channel":             {mustLookup(t, "Jamba-v0.1"), 0, 1, 8192*16*4 + 8192*3*2},
		"a convolution":                        {mustLookup(t, "LFM2-1.2B"), 0, 1, 2048 * 2 * 2},
		"attention and a state":                {falcon, 0, 1, 1000*2*2*64*2 + mamba2},
		"values narrower than keys":            {mustLookup(t, "MiMo-V2-Flash"), 0, 1, 1000 * 4 * (192 + 128) * 2},
		"other heads in a window":              {mustLookup(t, "MiMo-V2-Flash"), 1, 1, 128 * 8 * (192 + 128) * 2},
		"wider heads without a window":         {mustLookup(t, "Gemma-4-31B"), 5, 1, 1000 * 2 * 4 * 512 * 2},
		"an encoder alone":                     {mustLookup(t, "BGE-M3"), 0, 1, 0},
		"an encoder's output":                  {mustLookup(t, "T5-Base"), 0, 1, (1000 + 512) * 2 * 12 * 64 * 2},
	} {
		if got := c.m.LayerKVBytesPerRank(c.layer, 1000, int(c.ranks), v1alpha1.BF16); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

// TestWhisperKeepsItsEncodersOutputOnce: 32 layers keep keys and values of 1500 positions for each sequence, 234 MiB, and no more.
func TestWhisperKeepsItsEncodersOutputOnce(t *testing.T) {
	m := mustLookup(t, "Whisper-large-v3")
	var kept int64
	for layer := range int(m.Architecture.Layers) {
		kept += m.LayerKVBytesPerRank(layer, 0, 1, v1alpha1.BF16)
	}
	if want := int64(32 * 1500 * 2 * 1280 * 2); kept != want {
		t.Errorf("%d bytes, want %d", kept, want)
	}
}

// TestOrdersOfLayers reads lists that no period describes, and those that one does.
func TestOrdersOfLayers(t *testing.T) {
	const rest = `"hidden_size":64,"num_attention_heads":4,"vocab_size":100,"intermediate_size":128,"torch_dtype":"bfloat16","sliding_window":8`
	for config, want := range map[string]struct {
		mixers string
		every  int32
	}{
		`"model_type":"mistral","num_hidden_layers":3,"layer_types":["full_attention","sliding_attention","full_attention"]`:                     {"FW", 0},
		`"model_type":"mistral","num_hidden_layers":4,"layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"]`: {"", 2},
		`"model_type":"qwen2","num_hidden_layers":4,"use_sliding_window":true,"max_window_layers":3`:                                             {"FFFW", 0},
		`"model_type":"exaone4","num_hidden_layers":8,"sliding_window_pattern":"LLLG"`:                                                           {"", 4},
	} {
		m, err := FromConfig("x", []byte("{"+config+","+rest+"}"))
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		if a := &m.Architecture; a.Mixers != want.mixers || a.Attention.FullAttentionEvery != want.every {
			t.Errorf("%s: mixers %q, one in %d full, want %q and %d", config, a.Mixers, a.Attention.FullAttentionEvery, want.mixers, want.every)
		}
	}
}

// TestKindsThatAreNotDescribed names the field and the remedy.
func TestKindsThatAreNotDescribed(t *testing.T) {
	whole := mustLookup(t, "Jamba-v0.1").Architecture
	for want, change := range map[string]func(*v1alpha1.Architecture){
		"mixers is \"FZ\": give at most 1024 of the letters FWRBX": func(a *v1alpha1.Architecture) { a.Mixers = "FZ" },
		"blocks is \"N\": give at most 1024 of the letters DMX":    func(a *v1alpha1.Architecture) { a.Blocks = "N" },
		"recurrent is absent: describe it":                         func(a *v1alpha1.Architecture) { a.Recurrent = nil },
		"recurrent.kind is \"RWKV\": set it to":                    func(a *v1alpha1.Architecture) { a.Recurrent.Kind = "RWKV" },
		"moe is absent: describe it":                               func(a *v1alpha1.Architecture) { a.MoE = nil },
		"attention.slidingWindow is 0: set it":                     func(a *v1alpha1.Architecture) { a.Mixers = "FW" },
		"attention.windowed.heads is 3 and": func(a *v1alpha1.Architecture) {
			a.Attention.Windowed = &v1alpha1.WindowedHeads{Heads: 3, KVHeads: 2, HeadDim: 8}
		},
		"otherParameters is -1: set it": func(a *v1alpha1.Architecture) { a.OtherParameters = -1 },
	} {
		a := *whole.DeepCopy()
		change(&a)
		if _, err := FromArchitecture("x", a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestHybridsLeaveModulesOut matches the names that hybrids have for their modules.
func TestHybridsLeaveModulesOut(t *testing.T) {
	const config = `{"model_type":"nemotron_h","hidden_size":256,"num_hidden_layers":4,"hybrid_override_pattern":"M-*M","num_attention_heads":4,"num_key_value_heads":4,"head_dim":64,"intermediate_size":512,"vocab_size":1000,"mamba_num_heads":8,"mamba_head_dim":64,"n_groups":2,"ssm_state_size":64,"torch_dtype":"bfloat16","quantization_config":{"quant_method":"fp8","modules_to_not_convert":["lm_head","backbone.layers.0.mixer.in_proj","backbone.layers.2.mixer.q_proj"]}}`
	m, err := FromConfig("x", []byte(config))
	if err != nil {
		t.Fatal(err)
	}
	// A matrix in FP8 has two scales of 32 bits, as one in 16 bits has not.
	const in = 256 * (2*512 + 2*2*64 + 8)
	if got, least := m.LayerWeightBytes(0, m.Native)-m.LayerWeightBytes(3, m.Native), int64(in-64); got < least || got > in {
		t.Errorf("the first layer takes %d bytes more than the last, want about %d", got, in)
	}
}
