package model

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestPublications: a checkpoint in another format is of the same weights. Llama-3.1-8B's entry has ids of three models with different
// weights, of which the one in FP8 was made of the instruction-tuned.
func TestPublications(t *testing.T) {
	for _, c := range []struct {
		name   string
		in     v1alpha1.Precision
		want   string
		stored bool
	}{
		{"Qwen/Qwen3-32B", v1alpha1.BF16, "Qwen/Qwen3-32B", true},
		{"Qwen/Qwen3-32B", v1alpha1.FP8, "Qwen/Qwen3-32B-FP8", true},
		{"Qwen3-32B", v1alpha1.INT4, "Qwen/Qwen3-32B-AWQ", true},
		{"Qwen/Qwen3-32B-FP8", v1alpha1.BF16, "Qwen/Qwen3-32B", true},
		{"Qwen/Qwen3-32B-FP8", v1alpha1.INT4, "Qwen/Qwen3-32B-AWQ", true},
		{"Llama-3.1-8B", v1alpha1.FP8, "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic", true},
		{"meta-llama/Llama-3.1-8B-Instruct", v1alpha1.FP8, "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic", true},
		{"meta-llama/Llama-3.1-8B", v1alpha1.FP8, "RedHatAI/Meta-Llama-3.1-8B-FP8", true},
		{"meta-llama/Llama-3.1-8B", v1alpha1.NVFP4, "", false},
		{"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", v1alpha1.FP8, "", false},
		{"Phi-2", v1alpha1.INT4, "", false},
	} {
		m, err := Lookup(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got, stored := m.Stored(c.in); got != c.want || stored != c.stored {
			t.Errorf("%s in %s: %q, %t, want %q", c.name, c.in, got, stored, c.want)
		}
		if _, stored := m.Pinned().Stored(c.in); stored != (c.in == m.Native) {
			t.Errorf("%s pinned: stored in %s: %t", c.name, c.in, stored)
		}
	}
}

// TestPublishedBytes: weights in a format are those of its published checkpoint, whoever named it.
func TestPublishedBytes(t *testing.T) {
	base, err := Lookup("meta-llama/Llama-3.1-405B-Instruct")
	if err != nil {
		t.Fatal(err)
	}
	published, err := Lookup("meta-llama/Llama-3.1-405B-Instruct-FP8")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := base.WeightBytes(v1alpha1.FP8), published.WeightBytes(v1alpha1.FP8); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	if got := base.Pinned().WeightBytes(v1alpha1.FP8); got >= published.WeightBytes(v1alpha1.FP8) {
		t.Errorf("made of 16 bits: %d bytes, want fewer: the published one keeps attention in 16 bits", got)
	}
}
