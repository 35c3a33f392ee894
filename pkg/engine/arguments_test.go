package engine

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Every argument is written down once, with a version that the row was looked at in, and with a source.
func TestTablesOfArguments(t *testing.T) {
	for _, e := range table {
		names, purposes := map[string]bool{}, map[Purpose]bool{}
		for i := range e.Arguments {
			a := &e.Arguments[i]
			if a.Name == "" || a.For == "" || names[a.Name] || purposes[a.For] {
				t.Errorf("%s: %q for %q is unnamed or twice in the table", e.Name, a.Name, a.For)
			}
			names[a.Name], purposes[a.For] = true, true
			if !strings.HasPrefix(a.Source, "https://") {
				t.Errorf("%s: %s has no source: %q", e.Name, a.Name, a.Source)
			}
			if version(t, a.Since) == nil || slices.Compare(version(t, a.Since), version(t, e.Version())) > 0 {
				t.Errorf("%s: %s is known since %q, and plans are made for %q", e.Name, a.Name, a.Since, e.Version())
			}
			if (a.Takes == Word || a.Takes == WordList) != (len(a.Values) > 0) || a.Most != 0 && a.Most < a.Least {
				t.Errorf("%s: %s has values %v and a range from %g to %g", e.Name, a.Name, a.Values, a.Least, a.Most)
			}
			for format, word := range a.Words {
				if !slices.Contains(a.Values, word) {
					t.Errorf("%s: %s has the word %q for %s, which is none of %v", e.Name, a.Name, word, format, a.Values)
				}
			}
		}
	}
}

// version returns the numbers of a version without what follows the third.
func version(t *testing.T, text string) []int {
	t.Helper()
	var numbers []int
	for _, part := range strings.SplitN(text, ".", 3) {
		n, err := strconv.Atoi(strings.SplitN(part, "rc", 2)[0])
		if err != nil {
			t.Errorf("version %q: %v", text, err)
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}

func TestCheckCommand(t *testing.T) {
	for words, want := range map[string]string{
		"":                            "",
		"--tensor-parallel-size 8":    "",
		"--tensor-parallel-size":      "has no value",
		"--tensor-parallel-size 0":    "from 1 on",
		"--tensor-parallel-size two":  "from 1 on",
		"--headless":                  "",
		"--headless --headless":       "given twice",
		"--headless --tp 8":           `"--tp" is not an option`,
		"VLLM_PP_LAYER_PARTITION 1,1": "is not an option",
		"--kv-cache-dtype auto":       "use one of float16, bfloat16",
		"--gpu-memory-utilization 2":  "from 0.01 to 1",
		"--gpu-memory-utilization .9": "",
		"--master-port 65536":         "from 1 to 65535",
		"--master-addr a;b":           "use one word",
		"--node-rank 0":               "",
	} {
		err := vllm.Arguments.CheckCommand(strings.Fields(words))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", words, err, want)
		}
	}
}

func TestCheckSetting(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"pp_partition", "30,31", ""},
		{"pp_partition", "30,0", "from 1 on"},
		{"enable_attention_dp", "true", ""},
		{"enable_attention_dp", "yes", "true or false"},
		{"kv_cache_config.free_gpu_memory_fraction", "0.9", ""},
		{"max_beam", "1", "is not an argument"},
	} {
		err := tensorRTLLM.Arguments.CheckSetting(c.name, c.value)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s: %v, want %q", c.name, c.value, err, c.want)
		}
	}
}

func TestLoads(t *testing.T) {
	for _, c := range []struct {
		engine         *Engine
		stored, wanted v1alpha1.Precision
		want           bool
	}{
		{&vllm, v1alpha1.BF16, v1alpha1.BF16, true},
		{&vllm, v1alpha1.BF16, v1alpha1.FP16, true},
		{&vllm, v1alpha1.BF16, v1alpha1.FP8, true},
		{&vllm, v1alpha1.BF16, v1alpha1.INT4, false},
		{&vllm, v1alpha1.FP8, v1alpha1.BF16, false},
		{&vllm, v1alpha1.FP8, v1alpha1.FP8, true},
		{&tensorRTLLM, v1alpha1.BF16, v1alpha1.FP8, false},
	} {
		if got := c.engine.Loads(c.stored, c.wanted); got != c.want {
			t.Errorf("%s runs %s from %s: %t", c.engine.Name, c.wanted, c.stored, got)
		}
	}
}

func TestRefusesCache(t *testing.T) {
	for format, refused := range map[v1alpha1.Precision]bool{v1alpha1.BF16: false, v1alpha1.FP16: false, v1alpha1.FP8: false, v1alpha1.INT8: true, v1alpha1.FP32: true} {
		if err := vllm.RefusesCache(format, v1alpha1.FP8); (err != nil) != refused {
			t.Errorf("vLLM with a cache in %s: %v", format, err)
		}
	}
	if err := torch.RefusesCache(v1alpha1.INT8, v1alpha1.BF16); err != nil {
		t.Error(err)
	}
	// A cache of 16 bits has no word of its own: TensorRT-LLM keeps the one that the checkpoint has scales for.
	for stored, refused := range map[v1alpha1.Precision]bool{v1alpha1.BF16: false, v1alpha1.FP16: false, v1alpha1.FP8: true} {
		if err := tensorRTLLM.RefusesCache(v1alpha1.BF16, stored); (err != nil) != refused {
			t.Errorf("TensorRT-LLM with a cache in BF16 of a checkpoint for %s: %v", stored, err)
		}
	}
	if err := tensorRTLLM.RefusesCache(v1alpha1.FP8, v1alpha1.FP8); err != nil {
		t.Error(err)
	}
}
