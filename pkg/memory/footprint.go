package memory

// Footprint is the memory of a setup for any run of consecutive layers. It does not change and may be shared.
type Footprint struct {
	counter *Counter
	setup   Setup
	layers  int
	// What the layers need: beside their routed experts and for these.
	weights, experts, cache, step, kept, trained, trainedExperts sums
	// Of the cache of a running sequence; empty where all sequences are held at full length.
	mean, deviation sums
	shared          sums // of the cache, what all sequences have in common
	adapters        sums // beside the weights
	loading         sums // see Loading
	draft           drafter
	// Bytes that the ends of the model add.
	embedding, head, norm int64
	inference             Inference // the setup's
	activations           activations
	training              *training
	engine, communication int64
	beside                int64 // what a device has beside the part of SGLang's rule
	quick                 quick
}

// New counts the memory of a setup. The device only decides the engine's default batch sizes; leave it empty where these
// are set, or where many kinds of device are compared at an engine's smallest defaults. The error for fields that
// contradict each other or are out of range names the field, its value and what to set.
func New(s Setup, d Device) (*Footprint, error) {
	c, err := fitted()
	if err != nil {
		return nil, err
	}
	return newWith(s, d, c)
}

// newWith is New with constants other than the committed ones.
func newWith(s Setup, d Device, fit constants) (*Footprint, error) {
	c, err := newCounter(s, fit)
	if err != nil {
		return nil, err
	}
	return c.Footprint(s.Layout, 0, 0, d)
}

// InLayout returns the footprint of the same inference in another layout. It shares all sums except those of routed
// experts where the numbers of tensor and decode context ranks are equal.
func (f *Footprint) InLayout(l Layout) (*Footprint, error) {
	if err := l.normal(&f.setup); err != nil {
		return nil, err
	}
	other, was := *f, f.setup.Layout
	other.setup.Layout = l
	if l.Tensor == was.Tensor && l.DecodeContext == was.DecodeContext {
		other.countExperts()
	} else {
		other.count()
	}
	if err := other.countDraft(); err != nil {
		return nil, err
	}
	other.prepare()
	return &other, nil
}

// InBatches returns the footprint of the same inference with other limits of a step. It shares the sums where no windowed
// layer keeps tokens of a step. A limit of 0 takes the engine's default for an unknown device.
func (f *Footprint) InBatches(tokens, sequences int64) (*Footprint, error) {
	other := *f
	if err := other.batch(tokens, sequences, Device{}); err != nil {
		return nil, err
	}
	// The tokens of a step that windowed layers keep rise with its limit.
	if f.step.of(0, f.layers) > 0 || other.inference.BatchedTokens > f.inference.BatchedTokens {
		other.count()
	}
	other.prepare()
	return &other, nil
}

// batch sets the limits of a step.
func (f *Footprint) batch(tokens, sequences int64, d Device) error {
	f.inference.BatchedTokens, f.inference.BatchedSequences = tokens, sequences
	f.setup.Inference = &f.inference
	return f.inference.normal(f.counter.engine, d)
}

// count fills in the ends of the model and the sums over layers. Layers of one form are counted once.
func (f *Footprint) count() {
	s := &f.setup
	f.embedding = bounded(s.Model.EmbeddingBytesPerRank(s.Layout.Tensor, s.Weights))
	f.head = bounded(s.Model.HeadBytesPerRank(s.Layout.Tensor, s.Weights))
	f.prepareEnds()
	w, forms := f.counter.weights(s), make([]amounts, 0, 16)
	for _, of := range f.counter.forms {
		forms = append(forms, f.layer(&w, of.layer))
	}
	f.weights, f.cache, f.step = f.sum(forms, inWeights), f.sum(forms, inCache), f.sum(forms, inStep)
	f.kept, f.trained = f.sum(forms, inKept), f.sum(forms, inTrained)
	if f.inference.Mean > 0 {
		f.mean, f.deviation = f.sum(forms, inMean), f.sum(forms, inDeviation)
	}
	if f.inference.Shared > 0 {
		f.shared = f.sum(forms, inShared)
	}
	f.countExperts()
}

// countExperts fills in the sums of routed experts.
func (f *Footprint) countExperts() {
	w, forms := f.counter.weights(&f.setup), make([]amounts, 0, 16)
	for _, of := range f.counter.forms {
		forms = append(forms, f.routed(&w, of))
	}
	f.experts, f.trainedExperts = f.sum(forms, inWeights), f.sum(forms, inTrained)
	f.countAdapters()
	f.countLoading()
}

// amounts are what a device needs for a layer. In inference: weights, cache of the longest sequence and of a running one, and
// the tokens of a step, and what sequences share. In training: weights, what is kept for the backward pass, and trained parameters.
type amounts [8]int64

const (
	inWeights = iota
	inCache
	inStep
	inMean
	inDeviation
	inKept
	inTrained
	inShared
)

// layer returns what a layer needs beside its routed experts.
func (f *Footprint) layer(w *weights, layer int) amounts {
	held := w.layer(layer)
	if t := f.training; t != nil {
		return amounts{inWeights: t.held(held, t.weightRanks), inKept: t.keptInFlight(layer), inTrained: t.trained(w, layer).rest}
	}
	c := f.caching()
	sequence, step := c.kept(layer)
	token := c.token(layer)
	mean, deviation := c.running(layer, sequence)
	return amounts{
		inWeights: held, inCache: times(sequence, token), inStep: times(step, token), inMean: times(mean, token), inDeviation: times(deviation, token),
		inShared: times(c.common(layer), token),
	}
}

// routed returns what a layer's routed experts need.
func (f *Footprint) routed(w *weights, of form) amounts {
	held := w.shareOf(of.experts)
	if t := f.training; t != nil {
		return amounts{inWeights: t.held(held, t.expertRanks()), inTrained: t.trained(w, of.layer).experts}
	}
	return amounts{inWeights: held}
}

// Layers returns the number of layers of the model.
func (f *Footprint) Layers() int { return f.layers }

// Setup returns the setup with its defaults filled in.
func (f *Footprint) Setup() Setup { return f.setup }

// Graphs returns what recorded launches take of a device among the bytes of the engine; how much they do is known to no better than that.
func (f *Footprint) Graphs() int64 { return f.counter.graphs() }

// sequences returns how many of the instance's sequences a device keeps the cache of.
func (f *Footprint) sequences() int64 {
	if f.setup.Inference == nil {
		return 0
	}
	return ceil(f.setup.Inference.Sequences, int64(f.setup.Layout.AttentionData))
}

// sequenceBytes returns the cache of one sequence of the longest length in layers first to end-1 of a device. The tokens
// of a step that vLLM's windowed layers keep for all sequences together are not included.
func (f *Footprint) sequenceBytes(first, end int) int64 { return f.one(first, end) }

// KeptBytes returns what a device keeps for the backward pass of each further micro-batch in flight, over all layers; 0
// in inference.
func (f *Footprint) KeptBytes() int64 {
	if f.training == nil {
		return 0
	}
	alive, runs := f.training.inFlight()
	return part(f.kept.of(0, f.layers), runs, alive)
}

// Use returns what a device needs for layers first to end-1. The first stage has the embedding, the last one the final
// norm and the head; a shared table is held twice where these are different stages. The run must be within the model.
func (f *Footprint) Use(first, end int) Use {
	u := Use{
		Weights: f.weights.of(first, end) + f.experts.of(first, end) + f.further(first, end),
		Cache:   bounded(f.held(f.sequences(), first, end) + f.step.of(first, end)),
		Engine:  f.engine, Communication: f.communication,
	}
	at := f.at(first, end)
	u.Weights += f.quick.weights[at]
	if f.training == nil {
		u.Activations = f.quick.activations[at]
		return u
	}
	f.training.use(&u, f, first, end)
	return u
}

// endWeight is what a stage holds only because it is the first or the last one: the bytes of one copy, and what a device
// keeps of them.
type endWeight struct {
	name        string
	whole, held int64
	table       bool // of embedding or head
}

func (f *Footprint) ends(first, last bool) (list [3]endWeight) {
	if first {
		list[0] = f.end("embedding", f.embedding, true)
	}
	if last {
		list[1] = f.end("final norm", f.norm, false)
		if !first || !f.setup.Model.Architecture.TiedEmbeddings { // a single stage holds a shared table once
			list[2] = f.end("head", f.head, true)
		}
	}
	return list
}

func (f *Footprint) end(name string, bytes int64, table bool) endWeight {
	held := bytes
	if t := f.training; t != nil {
		held = t.held(bytes, t.weightRanks)
	}
	return endWeight{name, bytes, held, table}
}
