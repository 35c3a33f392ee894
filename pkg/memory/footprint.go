package memory

import (
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/pkg/model"
)

// Footprint is the memory of a setup for any run of consecutive layers. It does not change and may be shared.
type Footprint struct {
	setup     Setup
	constants Constants
	layers    int
	tied      bool
	// Sums over the layers before an index.
	weights, experts, cache, step, kept, trained, trainedExperts []int64
	// What the ends of the model add.
	embedding, head, norm int64
	activations           *activations
	training              *training
	engine, communication int64
	beside                int64 // what a device has beside the part of SGLang's rule
	quick                 quick
}

// New counts the memory of a setup. The device decides only about the engine's default batch sizes; leave it empty where
// they are set or where many kinds of device are compared at an engine's smallest defaults. It refuses a setup whose
// fields contradict each other or are out of range, naming the field, its value and what to set.
func New(s Setup, d Device) (*Footprint, error) {
	c, err := Fitted()
	if err != nil {
		return nil, err
	}
	return NewWith(s, d, c)
}

// NewWith is New with constants of the caller's, such as those measured on its own engine.
func NewWith(s Setup, d Device, c Constants) (*Footprint, error) {
	if d != (Device{}) {
		if err := d.Check(); err != nil {
			return nil, err
		}
	}
	s, err := s.normal(d)
	if err != nil {
		return nil, err
	}
	m := s.Model
	f := &Footprint{
		setup: s, constants: c, layers: int(m.Architecture.Layers), tied: m.Architecture.TiedEmbeddings,
		embedding: bounded(m.EmbeddingBytesPerRank(s.Layout.Tensor, s.Weights)),
		head:      bounded(m.HeadBytesPerRank(s.Layout.Tensor, s.Weights)),
		norm:      bounded(m.FinalNormBytes(s.Weights)),
		engine:    bounded(c.OutsideBytes),
	}
	if s.Layout.ranks() > 1 {
		f.communication = bounded(c.CommunicationBytes)
	}
	if s.Training != nil {
		f.train()
	} else {
		f.activations = activationsOf(&s, &c)
	}
	if s.Inference != nil {
		f.beside = besideStatic(d, s.Inference.Utilization)
	}
	f.sum()
	f.prepare()
	return f, nil
}

// InPipeline is the footprint of the same setup of inference in a pipeline of some stages, which shares its sums.
func (f *Footprint) InPipeline(stages int) (*Footprint, error) {
	s := f.setup
	s.Layout.Pipeline = stages
	l, err := s.Layout.normal(s)
	if err != nil {
		return nil, err
	}
	other := *f
	other.setup.Layout = l
	other.communication = 0
	if l.ranks() > 1 {
		other.communication = bounded(f.constants.CommunicationBytes)
	}
	return &other, nil
}

// InBatches is the footprint of the same setup of inference with other limits of a step, which shares its sums where they
// are the same: where no windowed layer keeps tokens of a step. A limit of 0 is the engine's default on a device that is not
// known.
func (f *Footprint) InBatches(tokens, sequences int64) (*Footprint, error) {
	s := f.setup
	changed := *s.Inference
	changed.BatchedTokens, changed.BatchedSequences = tokens, sequences
	inference, err := changed.normal(engines[s.Engine], Device{})
	if err != nil {
		return nil, err
	}
	s.Inference = &inference
	other := *f
	other.setup, other.activations = s, activationsOf(&s, &f.constants)
	// The tokens of a step that windowed layers keep rise with its limit.
	if f.step[f.layers] > 0 || inference.BatchedTokens > f.setup.Inference.BatchedTokens {
		other.sum()
	}
	other.prepare()
	return &other, nil
}

// sum fills the sums over layers. Layers of one form are counted once.
func (f *Footprint) sum() {
	training, mixture := f.training != nil, f.setup.Model.Architecture.MoE != nil
	f.weights, f.experts = f.sums(true), f.sums(mixture)
	f.cache, f.step = f.sums(!training), f.sums(!training)
	f.kept, f.trained, f.trainedExperts = f.sums(training), f.sums(training), f.sums(training)
	w := weightsOf(&f.setup)
	var forms []model.LayerForm
	var counted []amounts
	last := -1
	for i := range f.layers {
		form := f.setup.Model.LayerForm(i, f.setup.Weights)
		if last < 0 || forms[last] != form {
			if last = slices.Index(forms, form); last < 0 {
				last = len(forms)
				forms, counted = append(forms, form), append(counted, f.layer(w, i))
			}
		}
		a := &counted[last]
		f.weights[i+1] = bounded(f.weights[i] + a.weights)
		if mixture {
			f.experts[i+1] = bounded(f.experts[i] + a.experts)
		}
		if training {
			f.kept[i+1], f.trained[i+1] = bounded(f.kept[i]+a.kept), bounded(f.trained[i]+a.trained.rest)
			f.trainedExperts[i+1] = bounded(f.trainedExperts[i] + a.trained.experts)
		} else {
			f.cache[i+1], f.step[i+1] = bounded(f.cache[i]+a.cache), bounded(f.step[i]+a.step)
		}
	}
}

// nothing is sums over layers that have none of an amount; it is never written.
var nothing [1025]int64

// sums are for each layer and the end; all 0 where there is nothing to sum.
func (f *Footprint) sums(needed bool) []int64 {
	n := f.layers + 1
	if needed || n > len(nothing) {
		return make([]int64, n)
	}
	return nothing[:n:n]
}

// amounts are what a device needs for a layer.
type amounts struct {
	weights, experts, cache, step, kept int64
	trained                             trainable
}

func (f *Footprint) layer(w *weights, i int) amounts {
	a := amounts{weights: w.layer(i), experts: w.experts(i)}
	if t := f.training; t != nil {
		a.weights, a.experts = t.held(a.weights), t.heldExperts(a.experts)
		a.kept, a.trained = t.kept, t.trained(i)
		return a
	}
	c := cacheOf(&f.setup)
	sequence, step := c.kept(i)
	a.cache, a.step = times(sequence, c.token(i)), times(step, c.token(i))
	return a
}

// Layers is the number of layers of the model.
func (f *Footprint) Layers() int { return f.layers }

// Setup is the setup with the defaults that were filled in.
func (f *Footprint) Setup() Setup { return f.setup }

// Sequences is how many sequences of the instance's a device keeps the cache of.
func (f *Footprint) Sequences() int64 {
	if f.setup.Inference == nil {
		return 0
	}
	return ceil(f.setup.Inference.Sequences, int64(f.setup.Layout.AttentionData))
}

// SequenceBytes is the cache of each sequence of the longest length in layers first to end-1 of a device. Windowed layers
// of vLLM keep the tokens of a step beside it, for all sequences together.
func (f *Footprint) SequenceBytes(first, end int) int64 { return f.cache[end] - f.cache[first] }

// KeptBytes is what a device keeps of each further micro-batch in flight for the backward pass, in all layers together; 0
// in inference.
func (f *Footprint) KeptBytes() int64 {
	if f.training == nil {
		return 0
	}
	return f.kept[f.layers] / f.training.inFlight()
}

// TokenBytes is the cache of one more token in layers first to end-1 of a device where no window is full; decode context
// parallelism divides it by its degree.
func (f *Footprint) TokenBytes(first, end int) int64 {
	if f.setup.Inference == nil {
		return 0
	}
	c, sum := cacheOf(&f.setup), int64(0)
	for i := first; i < end; i++ {
		sum = bounded(sum + c.token(i))
	}
	return sum
}

// Use is what a device needs that holds layers first to end-1. The first stage has the embedding, the last one the final
// norm and the head; a shared table is held twice where they are different stages. It panics, like a slice, where the
// run is not within the model; Check says whether it is.
func (f *Footprint) Use(first, end int) Use {
	u := Use{
		Weights: f.weights[end] - f.weights[first] + f.experts[end] - f.experts[first],
		Cache:   bounded(times(f.Sequences(), f.SequenceBytes(first, end)) + f.step[end] - f.step[first]),
		Engine:  f.engine, Communication: f.communication,
	}
	last := end == f.layers
	ends := f.ends(first, last)
	for _, e := range ends.list[:ends.n] {
		u.Weights += e
	}
	if f.training == nil {
		u.Activations = f.activations.stage(last)
		return u
	}
	f.training.use(&u, f, first, end, ends.tables)
	return u
}

// endWeights are the weights that a stage has because it is the first or the last.
type endWeights struct {
	list   [3]int64
	n      int
	tables int64 // embedding and head tables among them
}

func (f *Footprint) ends(first int, last bool) endWeights {
	var e endWeights
	add := func(bytes int64) {
		if f.training != nil {
			bytes = f.training.held(bytes)
		}
		e.list[e.n] = bytes
		e.n++
	}
	if first == 0 {
		add(f.embedding)
		e.tables++
	}
	if last {
		add(f.norm)
		if first > 0 || !f.tied {
			add(f.head)
			e.tables++
		}
	}
	return e
}

// Check refuses a run of layers that the model does not have.
func (f *Footprint) Check(first, end int) error {
	if first < 0 || end > f.layers || first >= end {
		return fmt.Errorf("layers %d to %d are not a run of the model's %d layers: use 0 <= first < end <= %d", first, end, f.layers, f.layers)
	}
	return nil
}
