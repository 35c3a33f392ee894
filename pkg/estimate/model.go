package estimate

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/model"
)

// formats are how the names of checkpoints end that store another precision than the model they were made from, the
// longer ones before those that they end with. Sources: names on Hugging Face of nvidia, neuralmagic, RedHatAI, Qwen and
// amd.
var formats = []struct {
	suffix    string
	precision v1alpha1.Precision
}{
	{"-quantized.w4a16", v1alpha1.INT4},
	{"-quantized.w8a8", v1alpha1.INT8},
	{"-quantized.w8a16", v1alpha1.INT8},
	{"-gptq-int4", v1alpha1.INT4},
	{"-gptq-int8", v1alpha1.INT8},
	{"-awq-int4", v1alpha1.INT4},
	{"-fp8-dynamic", v1alpha1.FP8},
	{"-fp8-block", v1alpha1.FP8},
	{"-fp8-kv", v1alpha1.FP8},
	{"-fp8", v1alpha1.FP8},
	{"-nvfp4", v1alpha1.NVFP4},
	{"-mxfp4", v1alpha1.MXFP4},
	{"-fp4", v1alpha1.NVFP4},
	{"-w4a16", v1alpha1.INT4},
	{"-w8a8", v1alpha1.INT8},
	{"-awq", v1alpha1.INT4},
	{"-gptq", v1alpha1.INT4},
	{"-int4", v1alpha1.INT4},
	{"-int8", v1alpha1.INT8},
	{"-bf16", v1alpha1.BF16},
	{"-fp16", v1alpha1.FP16},
}

// revisions are how names end of checkpoints with the same tensors: what they were tuned for, and the accuracy that
// MLPerf asks of a benchmark.
var revisions = []string{"-instruct", "-chat", "-it", "-hf", "-base", "-thinking", "-99.9", "-99"}

// FindModel finds a model by its catalogue name or hub id, with or without organisation, in any case and with any sign
// between the words, and the precision that its weights are stored in: that of the checkpoint named, which a suffix may
// say (-FP8, -NVFP4, -AWQ). The error names the nearest names.
func FindModel(name string) (*model.Model, v1alpha1.Precision, error) {
	if m, err := model.Lookup(name); err == nil {
		return m, m.Native, nil
	}
	plain := withoutOwner(name)
	if m := lookup(plain); m != nil {
		return m, m.Native, nil
	}
	for _, f := range formats {
		base, ok := strings.CutSuffix(plain, f.suffix)
		if !ok {
			continue
		}
		// The catalogue's own checkpoint of that format says more than its precision.
		if m := lookup(withoutRevision(base) + f.suffix); m != nil {
			return m, m.Native, nil
		}
		for _, known := range []string{base, withoutRevision(base)} {
			if m := lookup(known); m != nil {
				return m, f.precision, nil
			}
		}
	}
	if m := lookup(withoutRevision(plain)); m != nil {
		return m, m.Native, nil
	}
	return nil, "", fmt.Errorf("model %q is not in the catalogue: did you mean %s? Else give its config.json", words.Echo(name),
		strings.Join(words.Nearest(plain, model.Names(), 3), ", "))
}

// withoutOwner is a name in lower case without what stands before its last slash or the class of an enumeration.
func withoutOwner(name string) string {
	name = strings.TrimSpace(strings.ToLower(name))
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	return strings.TrimPrefix(name, "modelname.")
}

// withoutRevision is a name without a date at its end and what it was tuned for.
func withoutRevision(name string) string {
	for {
		short := name
		if i := strings.LastIndexByte(name, '-'); i > 0 && isDate(name[i+1:]) {
			short = name[:i]
		}
		for _, r := range revisions {
			short = strings.TrimSuffix(short, r)
		}
		if short == name {
			return name
		}
		name = short
	}
}

// isDate says whether a word is a release's month: 2507, 0528, 202507.
func isDate(word string) bool {
	return (len(word) == 4 || len(word) == 6) && strings.Trim(word, "0123456789") == ""
}

// unversioned are names that stand for one version although later ones have them too: Mistral's first release had none,
// and of the generations of Llama that people write without a number only the second has 70 billion parameters.
var unversioned = map[string]string{"mistral7b": "Mistral-7B-v0.1", "llama70b": "Llama-2-70B"}

// lookup finds a name of the catalogue, comparing letters and digits alone, or the only one that begins so; nil where there
// is none.
func lookup(name string) *model.Model {
	if m, err := model.Lookup(name); err == nil {
		return m
	}
	wanted := squashed(name)
	var begin []string
	for _, known := range model.Names() {
		switch s := squashed(known); {
		case s == wanted:
			return entry(known)
		case len(wanted) >= shortest && strings.HasPrefix(s, wanted):
			begin = append(begin, known)
		}
	}
	if known, ok := unversioned[wanted]; ok {
		return entry(known)
	}
	if len(begin) == 1 {
		return entry(begin[0])
	}
	return nil
}

// shortest is how many letters and digits of a name's beginning say enough.
const shortest = 8

// entry is a model of the catalogue; nil where it has none of the name.
func entry(name string) *model.Model {
	m, err := model.Lookup(name)
	if err != nil {
		return nil
	}
	return m
}

// firstGeneration is a spelling of models whose first generation has no number.
var firstGeneration = strings.NewReplacer("llama1-", "llama-", "llama-1-", "llama-")

// squashed is a name without what people write differently: case, signs between words, and the v before a version.
func squashed(name string) string {
	name = strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(name))
	name = firstGeneration.Replace(name)
	var b strings.Builder
	for _, word := range strings.Split(name, "-") {
		if len(word) > 1 && word[0] == 'v' && word[1] >= '0' && word[1] <= '9' {
			word = word[1:]
		}
		for _, r := range word {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}
