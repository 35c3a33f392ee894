package checkpoint

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/pkg/model"
)

// TestGGUFSaysTheKindsOfLayers reads what llama.cpp's converter writes of models whose layers are of several kinds: a number of key and
// value heads for each layer, which is 0 where there is no attention.
func TestGGUFSaysTheKindsOfLayers(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"LFM2-1.2B": {
			"general.architecture": "lfm2", "lfm2.block_count": int64(16), "lfm2.context_length": int64(128000), "lfm2.embedding_length": int64(2048),
			"lfm2.feed_forward_length": int64(8192), "lfm2.attention.head_count": int64(32), "lfm2.vocab_size": int64(65536), "lfm2.shortconv.l_cache": int64(3),
			"lfm2.attention.head_count_kv": []int64{0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0, 8, 0, 8, 0},
		},
		"Nemotron-H-8B": {
			"general.architecture": "nemotron_h", "nemotron_h.block_count": int64(52), "nemotron_h.context_length": int64(8192), "nemotron_h.embedding_length": int64(4096),
			"nemotron_h.attention.head_count": int64(32), "nemotron_h.attention.key_length": int64(128), "nemotron_h.vocab_size": int64(131072),
			"nemotron_h.ssm.conv_kernel": int64(4), "nemotron_h.ssm.state_size": int64(128), "nemotron_h.ssm.group_count": int64(8),
			"nemotron_h.ssm.inner_size": int64(8192), "nemotron_h.ssm.time_step_rank": int64(128),
			"nemotron_h.attention.head_count_kv": perLayer('*', 8), "nemotron_h.feed_forward_length": perLayer('-', 21504),
		},
	} {
		h := ggufHeader{values: values}
		content, _, err := h.config()
		if err != nil {
			t.Fatal(err)
		}
		m, err := model.FromConfig(name, content)
		if err != nil {
			t.Errorf("%v in %s", err, content)
			continue
		}
		if diff := cmp.Diff(lookup(t, name).Architecture, m.Architecture); diff != "" {
			t.Errorf("%s (-catalogue +file):\n%s", name, diff)
		}
	}
}

// perLayer gives a number to the layers of Nemotron-H-8B that are of one kind, and 0 to the others.
func perLayer(kind byte, number int64) []int64 {
	const pattern = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"
	list := make([]int64, len(pattern))
	for i := range list {
		if pattern[i] == kind {
			list[i] = number
		}
	}
	return list
}
