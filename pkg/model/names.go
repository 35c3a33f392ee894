package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// Lookup returns the model of a catalogue name (`Llama-3.1-70B`) or hub id (`meta-llama/Llama-3.1-70B`), in any case
// and with any sign between the words. The error names the nearest names.
func Lookup(name string) (*Model, error) {
	c, err := load()
	if err != nil {
		return nil, err
	}
	e := c.index[spelling(name)]
	m, err := e.model(name)
	if err != nil {
		return nil, err
	}
	m.Checkpoint = e.id(name)
	m.others = e.publications(name)
	return m, nil
}

// Known says whether Lookup finds a model.
func Known(name string) bool {
	c, err := load()
	return err == nil && c.index[spelling(name)] != nil
}

// Find is Lookup for the names that people use: with any organisation, with what a model was tuned for or the date of a
// release at the end, or with only the beginning where no other model begins so. It also returns the precision of the
// weights: the precision of the named checkpoint, which a suffix may say (-FP8, -NVFP4, -AWQ).
func Find(name string) (*Model, v1alpha1.Precision, error) {
	c, err := load()
	if err != nil {
		return nil, "", err
	}
	e, stored := c.find(name)
	m, err := e.model(name)
	if err != nil {
		return nil, "", err
	}
	if stored == "" {
		stored = m.Native
	}
	m.others = e.publications(e.Name)
	return m, stored, nil
}

// model returns a copy of the entry's model. Without an entry, the error lists the names nearest to the one that was
// asked for.
func (e *catalogued) model(name string) (*Model, error) {
	if e == nil {
		return nil, fmt.Errorf("model %q is not in the catalogue: did you mean %s? Else give its config.json or its number of parameters",
			words.Echo(name), strings.Join(near(dashed.Replace(withoutOwner(name))), ", "))
	}
	stored, err := e.stored()
	if err != nil {
		return nil, fmt.Errorf("catalogue of models: %s: %w", e.Name, err)
	}
	m := &Model{
		Name: e.Name, Architecture: *e.Architecture.DeepCopy(), Native: e.Native, NextTokenModules: e.NextTokenModules, otherModules: e.OtherModules, adapters: e.Adapters,
		storage: stored, Synthetic: e.Estimate != nil,
	}
	if m.Synthetic {
		m.Assumptions = []string{e.Estimate.assumption()}
	}
	return m, nil
}

// id returns the hub's id of the checkpoint that a spelling of the entry means: the first of the entry where it is no id.
func (e *catalogued) id(name string) string {
	for _, id := range e.IDs {
		if s := spelling(name); s == spelling(id) || s == spelling(withoutOwner(id)) {
			return id
		}
	}
	if len(e.IDs) == 0 {
		return ""
	}
	return e.IDs[0]
}

// nearest is the number of names that an error offers.
const nearest = 3

// near returns the names that an error offers: of the catalogue, and of the checkpoints on the hub that begin with what was asked for
// where they are called otherwise, as another release of the same model is.
func near(wanted string) []string {
	names := Names()
	if c, err := load(); err == nil && wanted != "" {
		for _, e := range c.entries {
			for _, id := range e.IDs {
				if of := id[strings.LastIndexByte(id, '/')+1:]; strings.HasPrefix(strings.ToLower(of), strings.ToLower(wanted)) && !strings.HasPrefix(spelling(of), spelling(e.Name)) {
					names = append(names, of)
				}
			}
		}
	}
	return words.Nearest(wanted, names, nearest)
}

// Names returns the names of the catalogue, sorted.
func Names() []string {
	c, err := load()
	if err != nil {
		return nil
	}
	names := make([]string, len(c.entries))
	for i, e := range c.entries {
		names[i] = e.Name
	}
	slices.Sort(names)
	return names
}

// Families returns the names of the catalogue without those of other checkpoints of the same models, sorted.
func Families() []string {
	c, err := load()
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range c.entries {
		if e.family[0] == e {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}

// suffixes are how the names of checkpoints end that store another precision than the model they were made from, the
// longer ones before those that they end with. Sources: names on Hugging Face of nvidia, neuralmagic, RedHatAI, Qwen, amd
// and unsloth.
var suffixes = []struct {
	text      string
	precision v1alpha1.Precision
}{
	{"-quantized.w4a16", v1alpha1.INT4},
	{"-quantized.w8a8", v1alpha1.INT8},
	{"-quantized.w8a16", v1alpha1.INT8},
	{"-gptq-int4", v1alpha1.INT4},
	{"-gptq-int8", v1alpha1.INT8},
	{"-awq-int4", v1alpha1.INT4},
	{"-unsloth-bnb-4bit", v1alpha1.INT4},
	{"-bnb-4bit", v1alpha1.INT4},
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

// find returns the entry that a name most likely means, and the precision that the name says where it is not the entry's
// own.
func (c *catalogue) find(name string) (*catalogued, v1alpha1.Precision) {
	plain := withoutOwner(name)
	for _, whole := range []string{name, plain} {
		if e := c.nearly(whole); e != nil {
			return e, ""
		}
	}
	for _, f := range suffixes {
		base, ok := strings.CutSuffix(plain, f.text)
		if !ok {
			continue
		}
		// The catalogue's own checkpoint of that format says more than its precision.
		if e := c.nearly(withoutRevision(base) + f.text); e != nil {
			return e, ""
		}
		for _, known := range []string{base, withoutRevision(base)} {
			if e := c.nearly(known); e != nil {
				return e, f.precision
			}
		}
	}
	return c.nearly(withoutRevision(plain)), ""
}

// nearly returns the entry of a spelling, or the only model that begins so; nil where there is none.
func (c *catalogue) nearly(name string) *catalogued {
	wanted := spelling(name)
	if known, ok := unversioned[wanted]; ok {
		wanted = known
	}
	if e := c.index[wanted]; e != nil || len(wanted) < shortest {
		return e
	}
	var found *catalogued
	for _, e := range c.models {
		if strings.HasPrefix(spelling(e.Name), wanted) {
			if found != nil {
				return nil
			}
			found = e
		}
	}
	return found
}

// shortest is how many letters and digits of a name's beginning say enough.
const shortest = 8

// unversioned are spellings of names that stand for one version although later ones have them too: Mistral's first release
// had none, and of the generations of Llama that people write without a number only the second has 70 billion parameters.
var unversioned = map[string]string{"mistral7b": "mistral7b01", "llama70b": "llama270b"}

// spellings returns the names that an entry is found by: its name, its ids, and its ids without their owner.
func (e *catalogued) spellings() []string {
	list := []string{spelling(e.Name)}
	for _, id := range e.IDs {
		list = append(list, spelling(id), spelling(withoutOwner(id)))
	}
	return list
}

// withoutOwner returns a name in lower case without what precedes its last slash or the class of an enumeration.
func withoutOwner(name string) string {
	name = strings.TrimSpace(strings.ToLower(name))
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	return strings.TrimPrefix(name, "modelname.")
}

// withoutRevision returns a name without a date at its end and without what the model was tuned for.
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

// firstGeneration is a spelling of models whose first generation has no number.
var firstGeneration = strings.NewReplacer("llama1-", "llama-", "llama-1-", "llama-")

// dashed writes words as the catalogue's names do.
var dashed = strings.NewReplacer(" ", "-", "_", "-")

// spelling returns a name without what people write differently: case, signs between words, the v before a version, and a
// remark in brackets.
func spelling(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), " (")
	name = firstGeneration.Replace(dashed.Replace(strings.TrimSpace(name)))
	var b strings.Builder
	b.Grow(len(name))
	for word := range strings.SplitSeq(name, "-") {
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
