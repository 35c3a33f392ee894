package engine

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Stages is how an engine divides layers into the stages of a pipeline.
type Stages struct {
	// Cuts are the splits that the engine can be told to make.
	Cuts Cuts
	// Rest returns the first of the stages that get one more layer where the layers do not divide evenly and the engine is
	// not told a split; nil means the first stages.
	Rest func(stages, rest int) int
	// Without are traits of models that the engine has no pipelines for.
	Without []trait
	// Shardings are the training shardings that the engine combines with pipelines; nil means all.
	Shardings []v1alpha1.TrainingSharding
	// MicroBatches says whether a number of micro-batches of a step suits a number of stages; nil means that all do.
	MicroBatches func(count, stages int) bool
}

// toBeforeLast gives the layers that are left over to the stages before the last one, which has the head, and toLast to the
// last stages.
func toBeforeLast(stages, rest int) int { return stages - 1 - rest }
func toLast(stages, rest int) int       { return stages - rest }

// onePerStage asks for at least one micro-batch for each stage, multipleOfStages for a multiple of the number of stages.
func onePerStage(count, stages int) bool      { return count >= stages }
func multipleOfStages(count, stages int) bool { return count%stages == 0 }

// Split returns the number of layers that the engine gives to each stage by default. Where it must be told, it returns
// the split that it takes with the smallest largest stage; nil unless 1 <= stages <= layers.
func (s *Stages) Split(layers, stages int) []int {
	if stages < 1 || layers < stages {
		return nil
	}
	split := slices.Repeat([]int{layers / stages}, stages)
	rest := layers % stages
	if s.Cuts == CutEnds && rest > 0 && stages > 2 {
		return splitEnds(layers, stages)
	}
	first := 0
	if s.Rest != nil {
		first = s.Rest(stages, rest)
	}
	for i := range rest {
		split[first+i]++
	}
	return split
}

// splitEnds gives the stages between the first and the last one layer more than an even share where the ends keep one each,
// and what is left to the ends.
func splitEnds(layers, stages int) []int {
	between := layers/stages + 1
	if layers-between*(stages-2) < 2 {
		between--
	}
	ends := layers - between*(stages-2)
	split := slices.Repeat([]int{between}, stages)
	split[0], split[stages-1] = (ends+1)/2, ends/2
	return split
}

// Cuts are the ways in which an engine can be told to divide layers into stages.
type Cuts int

const (
	// CutAnywhere says that every stage can be given its number of layers.
	CutAnywhere Cuts = iota
	// CutEnds says that the first and the last stage can be given their numbers of layers; the stages between have
	// equally many.
	CutEnds
	// CutUniform says that the engine divides by itself and gives layers that are left over to the first stages.
	CutUniform
	// CutEven says that all stages have equally many layers.
	CutEven
)

// told says why an engine refuses a split, in words that follow "since".
var told = map[Cuts]string{
	CutEnds:    "only the first and the last stage may differ from the others",
	CutUniform: "it cuts by itself, into equal stages of which the first have one layer more",
	CutEven:    "it cuts stages of equal size alone",
}

// RefusesSplit says why the engine cannot be told the numbers of layers of the stages of a workload; nil where it can.
func (e *Engine) RefusesSplit(split []int, w *v1alpha1.TrainingWorkload) *Refusal {
	cuts := e.CutsFor(w)
	if cuts.Allow(endsFrom(split)) {
		return nil
	}
	return refuse(DegreePipeline, len(split), "%s has no stages of %v layers, since %s: plan for it", e.Name, split, told[cuts])
}

// Possible says whether the engine can divide so many layers into so many stages.
func (c Cuts) Possible(layers, stages int) bool {
	return stages <= layers && (c != CutEven || layers%stages == 0)
}

// Each visits the splits that the engine can be told, given as the layer after each stage, until visit returns false. It
// visits none for CutAnywhere, which has too many. The slice is reused between visits.
func (c Cuts) Each(layers, stages int, visit func(ends []int) bool) {
	if stages < 1 || !c.Possible(layers, stages) {
		return
	}
	switch {
	case stages == 1:
		visit([]int{layers})
	case c == CutEnds:
		eachEnds(layers, stages, visit)
	case c == CutUniform, c == CutEven:
		visit(endsFrom(new(Stages).Split(layers, stages)))
	}
}

// eachEnds visits every number of layers of the stages between the ends, and with each every way to divide the rest
// between the first and the last stage.
func eachEnds(layers, stages int, visit func(ends []int) bool) {
	ends := make([]int, stages)
	ends[stages-1] = layers
	between := stages - 2
	most := 1
	if between > 0 {
		most = (layers - 2) / between
	}
	for each := 1; each <= most; each++ {
		for first := 1; first+each*between < layers; first++ {
			for i := range stages - 1 {
				ends[i] = first + i*each
			}
			if !visit(ends) {
				return
			}
		}
	}
}

// endsFrom returns the index of the layer after each stage of a split.
func endsFrom(split []int) []int {
	ends := make([]int, len(split))
	sum := 0
	for i, n := range split {
		sum += n
		ends[i] = sum
	}
	return ends
}

// Allow says whether the engine can be told a split, given as the layer after each stage.
func (c Cuts) Allow(ends []int) bool {
	if c == CutAnywhere || len(ends) == 0 {
		return true
	}
	found := false
	c.Each(ends[len(ends)-1], len(ends), func(way []int) bool {
		found = slices.Equal(way, ends)
		return !found
	})
	return found
}

// trait is a property of models that decides which engines run them, in words that follow "models with".
type trait struct {
	words string
	has   func(*v1alpha1.Architecture) bool
}

var (
	withEncoder     = trait{"an encoder", func(a *v1alpha1.Architecture) bool { return a.Encoder != nil }}
	withTextEncoder = trait{"an encoder of text beside the decoder", func(a *v1alpha1.Architecture) bool { return a.Encoder != nil && a.Encoder.Channels == 0 }}
	withIndexer     = trait{"sparse attention", func(a *v1alpha1.Architecture) bool {
		mla := a.Attention.MLA
		return mla != nil && mla.Indexer != nil || a.Attention.Compressed != nil
	}}
	withTied = trait{"one table for embedding and head", func(a *v1alpha1.Architecture) bool { return a.TiedEmbeddings }}
)
