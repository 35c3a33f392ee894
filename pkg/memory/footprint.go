package memory

import "fmt"

// Footprint is the memory of a setup for any run of consecutive layers. It does not change and may be shared.
type Footprint struct {
	counter *Counter
	setup   Setup
	layers  int
	// Sums over the layers before an index.
	weights, experts, cache, step, kept, trained, trainedExperts []int64
	// What the ends of the model add.
	embedding, head, norm int64
	inference             Inference // the setup's
	activations           activations
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
func NewWith(s Setup, d Device, constants Constants) (*Footprint, error) {
	c, err := newCounter(s, constants)
	if err != nil {
		return nil, err
	}
	return c.Footprint(s.Layout, 0, 0, d)
}

// InPipeline is the footprint of the same setup of inference in a pipeline of some stages, which shares its sums.
func (f *Footprint) InPipeline(stages int) (*Footprint, error) {
	other := *f
	other.setup.Layout.Pipeline = stages
	if err := other.setup.Layout.normal(&other.setup); err != nil {
		return nil, err
	}
	other.communication = other.communicates()
	return &other, nil
}

// InBatches is the footprint of the same setup of inference with other limits of a step, which shares its sums where they
// are the same: where no windowed layer keeps tokens of a step. A limit of 0 is the engine's default on a device that is not
// known.
func (f *Footprint) InBatches(tokens, sequences int64) (*Footprint, error) {
	other := *f
	other.inference.BatchedTokens, other.inference.BatchedSequences = tokens, sequences
	if err := other.batch(Device{}); err != nil {
		return nil, err
	}
	// The tokens of a step that windowed layers keep rise with its limit.
	if f.step[f.layers] > 0 || other.inference.BatchedTokens > f.inference.BatchedTokens {
		other.count()
	}
	other.prepare()
	return &other, nil
}

// batch fills in the limits of a step, and what follows from them.
func (f *Footprint) batch(d Device) error {
	f.setup.Inference = &f.inference
	if err := f.inference.normal(&f.counter.engine, d); err != nil {
		return err
	}
	f.activations = activationsOf(&f.setup, f.counter)
	return nil
}

// communicates is what a process takes more where it has peers.
func (f *Footprint) communicates() int64 {
	if f.setup.Layout.ranks() > 1 {
		return bounded(f.counter.constants.CommunicationBytes)
	}
	return 0
}

// count fills the sums over layers. Layers of one form are counted once.
func (f *Footprint) count() {
	w, forms := f.counter.weights(&f.setup), make([]amounts, 0, 16)
	for i := range f.counter.forms {
		forms = append(forms, f.layer(&w, &f.counter.forms[i]))
	}
	for i, sums := range [...]*[]int64{&f.weights, &f.experts, &f.cache, &f.step, &f.kept, &f.trained, &f.trainedExperts} {
		*sums = f.sum(forms, i)
	}
}

// nothing is sums over layers that have none of an amount; it is never written.
var nothing [1025]int64

// sum adds up what the layers before each one, and all of them, have of an amount.
func (f *Footprint) sum(forms []amounts, at int) []int64 {
	most, n := int64(0), f.layers+1
	for i := range forms {
		most = max(most, forms[i][at])
	}
	if most == 0 && n <= len(nothing) {
		return nothing[:n:n]
	}
	sums, all := make([]int64, n), int64(0)
	for _, run := range f.counter.runs {
		each := forms[run.Form][at]
		for i := run.First; i < run.End; i++ {
			all = bounded(all + each)
			sums[i+1] = all
		}
	}
	return sums
}

// amounts are what a device needs for a layer: weights, routed experts, cache, tokens of a step, what is kept for the
// backward pass, and the parameters that are trained, those of routed experts by themselves.
type amounts [7]int64

func (f *Footprint) layer(w *weights, of *form) amounts {
	rest, experts := w.layer(of.layer), w.shareOf(of.experts)
	if t := f.training; t != nil {
		trained := t.trained(w, of.layer)
		return amounts{t.held(rest), t.heldExperts(experts), 0, 0, t.kept, trained.rest, trained.experts}
	}
	c := f.caching()
	sequence, step := c.kept(of.layer)
	token := c.token(of.layer)
	return amounts{rest, experts, times(sequence, token), times(step, token), 0, 0, 0}
}

// tied says whether one stage holds the table of embedding and head once.
func (f *Footprint) tied() bool { return f.setup.Model.Architecture.TiedEmbeddings }

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
	c, sum := f.caching(), int64(0)
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
		if first > 0 || !f.tied() {
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
