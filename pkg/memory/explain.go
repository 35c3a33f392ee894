package memory

import (
	"fmt"

	"github.com/rankwright/rankwright/pkg/model"
)

// Line is one amount with the arithmetic behind it.
type Line struct {
	// Component is a field of Use in its JSON name without Bytes: weights, kvCache, activations, gradients, optimizer,
	// engine or communication.
	Component string `json:"component"`
	// Name is a part of the component.
	Name string `json:"name"`
	// Bytes is the result of the formula.
	Bytes int64 `json:"bytes"`
	// Formula is the arithmetic with the numbers put in: + × / and brackets, with a word for what each number is. It
	// gives Bytes up to the rounding of divisions.
	Formula string `json:"formula"`
	// Note says what the formula does not.
	Note string `json:"note,omitempty"`
}

// Explain returns the arithmetic of Use: the lines of a component add up to it.
func (f *Footprint) Explain(first, end int) []Line {
	u, last := f.Use(first, end), end == f.layers
	lines := f.explainWeights(first, end)
	if f.training == nil {
		lines = append(lines, f.explainFurther(first, end)...)
		lines = append(lines, f.explainCache(first, end)...)
		lines = append(lines, f.activations.explain(first == 0, last)...)
	} else {
		lines = append(lines, f.training.explain(f, u, first, end)...)
	}
	graphs := f.Graphs()
	lines = append(lines, Line{
		"engine", "process", u.Engine - graphs, fmt.Sprintf("%d B", u.Engine-graphs),
		"what a process took outside the allocator in published start-up logs",
	})
	if graphs > 0 {
		lines = append(lines, Line{
			"engine", "CUDA graphs", graphs, fmt.Sprintf("%d B", graphs),
			"the most that this release was seen to count for them in start-up logs of usual services",
		})
	}
	if u.Communication > 0 {
		lines = append(lines, Line{
			"communication", "buffers", u.Communication, fmt.Sprintf("%d B", u.Communication),
			"what a process with peers took more in published start-up logs",
		})
	}
	return lines
}

// group is the layers of a run that have equal sizes.
type group struct {
	first, last, count int
	each               int64
}

// groups sorts the layers of a run by size, in the order of the first layer of each size. Layers of size 0 are left out.
func groups(amounts *sums, first, end int) []group {
	var list []group
	index := map[int64]int{}
	for i := first; i < end; i++ {
		each := amounts.of(i, i+1)
		at, ok := index[each]
		switch {
		case each == 0:
		case ok:
			list[at].last, list[at].count = i, list[at].count+1
		default:
			index[each] = len(list)
			list = append(list, group{i, i, 1, each})
		}
	}
	return list
}

func (g group) String() string {
	switch g.count {
	case 1:
		return fmt.Sprintf("layer %d", g.first)
	case g.last - g.first + 1:
		return fmt.Sprintf("layers %d to %d", g.first, g.last)
	default:
		return fmt.Sprintf("%d of layers %d to %d", g.count, g.first, g.last)
	}
}

func (g group) bytes() int64 { return times(int64(g.count), g.each) }

func (f *Footprint) explainWeights(first, end int) []Line {
	var lines []Line
	s := &f.setup
	var suffix, expertSuffix string
	if t := f.training; t != nil {
		suffix, expertSuffix = t.suffix(t.weightRanks), t.suffix(t.expertRanks())
	}
	note := fmt.Sprintf("in %s", s.Weights)
	if s.Layout.Tensor > 1 {
		note += fmt.Sprintf(", what %d tensor ranks repeat included", s.Layout.Tensor)
	}
	w := f.counter.weights(s)
	for _, g := range groups(&f.weights, first, end) {
		lines = append(lines, Line{"weights", g.String(), g.bytes(), fmt.Sprintf("%d layers × %d B%s", g.count, w.layer(g.first), suffix), note})
	}
	for _, g := range groups(&f.experts, first, end) {
		lines = append(lines, Line{"weights", "experts of " + g.String(), g.bytes(), fmt.Sprintf("%d layers × (%s)%s", g.count, w.formula(g.first), expertSuffix), w.note()})
	}
	for _, e := range f.ends(first == 0, end == f.layers) {
		if e.name != "" {
			lines = append(lines, Line{"weights", e.name, e.held, f.table(e.whole, e.table) + suffix, ""})
		}
	}
	if t := f.training; t != nil && t.method.adapter != nil {
		sum := f.trained.of(first, end)
		lines = append(lines, Line{"weights", "adapters", t.adapters(sum), fmt.Sprintf("%d parameters × %d B / %d ranks", sum, plainBytes(s.Weights), t.weightRanks), ""})
	}
	return lines
}

// formula returns the arithmetic of a layer's experts.
func (w *weights) formula(layer int) string {
	e := w.share()
	if moe := w.model.Architecture.MoE; !w.padded() {
		return fmt.Sprintf("%d B × %d / %d experts × %d / %d width", w.stored(layer), e.count, moe.Experts, e.width, moe.IntermediateSize)
	}
	num, den := model.BytesPer(w.precision)
	text := fmt.Sprintf("%d experts × %d matrices × %d hidden × %d width × %d / %d B", e.count, e.matrices, e.hidden, e.width, num, den)
	if w.model.Architecture.MoE.ExpertBias {
		text += fmt.Sprintf(" + %d experts × %d biases × %d width × %d B", e.count, e.matrices-1, e.width, plainBytes(w.precision))
	}
	return text
}

func (w *weights) note() string {
	if e := w.share(); e.hidden > int64(w.model.Architecture.HiddenSize) {
		return fmt.Sprintf("the kernel pads hidden %d to %d", w.model.Architecture.HiddenSize, e.hidden)
	}
	return ""
}

func (f *Footprint) table(bytes int64, rows bool) string {
	hidden, element := int64(f.setup.Model.Architecture.HiddenSize), plainBytes(f.setup.Weights)
	if row := hidden * element; rows && bytes%row == 0 {
		return fmt.Sprintf("%d rows × %d hidden × %d B", bytes/row, hidden, element)
	}
	return fmt.Sprintf("%d B", bytes)
}

func (f *Footprint) explainCache(first, end int) []Line {
	var lines []Line
	c := f.caching()
	sequences, spared := f.explainHeld(first, end)
	for _, g := range groups(&f.cache, first, end) {
		held, step := c.kept(g.first)
		common := c.common(g.first)
		line := Line{
			Component: "kvCache", Name: g.String(), Bytes: times(sequences, g.bytes()) - times(max(0, sequences-1), int64(g.count), common, c.token(g.first)),
			Formula: fmt.Sprintf("%d sequences × %d layers × %d tokens × %d B", sequences, g.count, held-common, c.token(g.first)) + sharedFormula(g, common, c.token(g.first)),
			Note:    fmt.Sprintf("%s, whole blocks of %d tokens", c.precision, c.block),
		}
		if spared > 0 {
			line = f.runningLine(&c, g, spared)
		}
		if held < c.blocks(c.length) {
			line.Note += ", a window"
		}
		if c.pool != nil {
			line.Note += ", of which windows and states take some"
		}
		if step > 0 {
			line.Bytes = bounded(line.Bytes + times(int64(g.count), step, c.token(g.first)))
			line.Formula += fmt.Sprintf(" + %d layers × %d tokens of a step × %d B", g.count, step, c.token(g.first))
		}
		lines = append(lines, line)
	}
	lines = append(lines, f.explainDraftCache(end, sequences, spared)...)
	if spared > 0 { // divisions are rounded once for the whole run
		rest := f.Use(first, end).Cache
		for i := range lines {
			rest -= lines[i].Bytes
		}
		lines[len(lines)-1].Bytes += rest
	}
	return lines
}

// explain returns the arithmetic of stage.
func (a *activations) explain(first, last bool) []Line {
	var lines []Line
	if first && a.media > 0 {
		lines = append(lines, Line{
			"activations", "images and sound", a.encoded(), fmt.Sprintf("%d tokens × %d hidden × %d B", a.media, a.hidden, a.element),
			"what encoders made of a step's images and sound, until the language model has read it",
		})
	}
	if last && a.sampling() > a.forward() {
		each := fmt.Sprint(a.sampler)
		if a.drafted > 0 {
			each = fmt.Sprintf("(%d + %d drafted tokens × %d)", a.sampler, a.drafted, a.verified())
		}
		return append(lines, Line{
			"activations", "sampling", a.sampling(),
			fmt.Sprintf("%d tokens × %d hidden × %d B + %d sequences × %d words × %s / 100 B", a.tokens, a.hidden, a.element, a.sequences, a.vocabulary, each),
			"hidden states of a step, and the sampler's tensors over the vocabulary",
		})
	}
	return append(lines, Line{
		"activations", "forward", a.forward(),
		fmt.Sprintf("%d tokens × %d B × (%d × %d hidden + %d widest) × %d / 100", a.tokens, a.element, a.kept, a.hidden, a.wide, 100+a.slack),
		"what is alive at once in the widest part of a layer",
	})
}
