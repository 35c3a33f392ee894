package plan

import (
	"math/bits"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// Memory that a process takes beside weights, cache and activations. Source: largest values that KAITO observed on vLLM
// 0.10.1 (driver context, kernels, allocator: 0.6 GiB), and NCCL's buffers as AIConfigurator measured them (342 MB on 2
// devices, 392 MB on 4 and 8: 0.4 GiB).
const (
	contextBytes       = 614 * mib
	communicationBytes = 410 * mib
)

// Activations of a forward pass. Source: AIConfigurator's fit, 2 bytes x tokens x hidden size x a factor that falls with
// the tensor degree, at least 70 MiB; vLLM runs at most 8192 tokens in one step on data-centre devices.
const (
	stepTokens       = 8192
	leastActivations = 70 * mib
)

var activationFactors = []struct{ tensor, factor int64 }{{1, 10}, {2, 6}, {4, 5}}

// logitBytes is what the sampler keeps for each sequence and word: 32-bit logits, and a sorted copy of them.
const logitBytes = 8

// footprint is the memory of one device for any run of consecutive layers at one tensor degree. Sums are over layers
// before an index.
type footprint struct {
	layers                  int
	weights, cache, state   []int64
	embedding, head, norm   int64
	endState                int64 // training state of embedding or head
	tied                    bool
	fixed, logits, overhead int64
}

// load is what a footprint is computed for.
type load struct {
	model    *model.Model
	format   v1alpha1.Precision
	cache    v1alpha1.Precision
	workload v1alpha1.Workload
	data     int
}

// footprintOf computes the memory at a tensor degree, in stages of a pipeline.
func footprintOf(l *load, tensor, stages int) *footprint {
	m := l.model
	f := &footprint{
		layers:    int(m.Architecture.Layers),
		embedding: bounded(m.EmbeddingBytesPerRank(tensor, l.format)),
		head:      bounded(m.HeadBytesPerRank(tensor, l.format)),
		norm:      bounded(m.FinalNormBytes(l.format)),
		tied:      m.Architecture.TiedEmbeddings,
		overhead:  contextBytes,
	}
	if tensor*stages*l.data > 1 {
		f.overhead += communicationBytes
	}
	f.weights, f.cache, f.state = make([]int64, f.layers+1), make([]int64, f.layers+1), make([]int64, f.layers+1)
	var training *trainingMemory
	if l.workload.Training != nil {
		training = trainingOf(l, tensor, stages)
		f.embedding, f.head, f.norm = training.held(f.embedding), training.held(f.head), training.held(f.norm)
		f.endState = training.states(bounded(m.EmbeddingBytesPerRank(tensor, v1alpha1.BF16)) / 2)
		f.fixed, f.logits = training.fixed, training.logits
	} else {
		f.fixed, f.logits = forward(l, int64(tensor))
	}
	for i := range f.layers {
		weights := bounded(m.LayerWeightBytesPerRank(i, tensor, l.format))
		var cache, state int64
		if training != nil {
			state = training.layer + training.states(bounded(m.LayerWeightBytesPerRank(i, tensor, v1alpha1.BF16))/2)
			weights = training.held(weights)
		} else {
			in := l.workload.Inference
			cache = times(m.LayerKVBytesPerRank(i, int64(in.MaxModelLen), tensor, l.cache), sequences(in))
		}
		f.weights[i+1], f.cache[i+1], f.state[i+1] = f.weights[i]+weights, f.cache[i]+cache, f.state[i]+bounded(state)
	}
	return f
}

// forward is what a pass of inference needs on every device, and on those that have the head.
func forward(l *load, tensor int64) (fixed, logits int64) {
	in := l.workload.Inference
	a := &l.model.Architecture
	factor := activationFactors[0].factor
	for _, f := range activationFactors {
		if tensor >= f.tensor {
			factor = f.factor
		}
	}
	tokens := min(stepTokens, times(int64(in.MaxModelLen), sequences(in)))
	fixed = max(leastActivations, times(2*tokens*factor, int64(a.HiddenSize)))
	return fixed, times(times(sequences(in), int64(a.VocabSize)), logitBytes) / tensor
}

func sequences(in *v1alpha1.InferenceWorkload) int64 { return max(1, int64(in.MaxSequences)) }

// use is the memory of a device that holds layers first to end-1. The first stage has the embedding, the last one the norm
// and the head, which shares the embedding where the model does and one stage has both.
func (f *footprint) use(first, end int) v1alpha1.MemoryUse {
	u := v1alpha1.MemoryUse{
		WeightsBytes:     f.weights[end] - f.weights[first],
		KVCacheBytes:     f.cache[end] - f.cache[first],
		ActivationsBytes: f.state[end] - f.state[first] + f.fixed,
		OverheadBytes:    f.overhead,
	}
	if first == 0 {
		u.WeightsBytes += f.embedding
		u.ActivationsBytes += f.endState
	}
	if end == f.layers {
		u.WeightsBytes += f.norm
		u.ActivationsBytes += f.logits
		if first > 0 || !f.tied {
			u.WeightsBytes += f.head
			u.ActivationsBytes += f.endState
		}
	}
	u.TotalBytes = u.WeightsBytes + u.KVCacheBytes + u.ActivationsBytes + u.OverheadBytes
	return u
}

// bytes is the total of use.
func (f *footprint) bytes(first, end int) int64 {
	total := f.weights[end] - f.weights[first] + f.cache[end] - f.cache[first] + f.state[end] - f.state[first] + f.fixed + f.overhead
	if first == 0 {
		total += f.embedding + f.endState
	}
	if end == f.layers {
		total += f.norm + f.logits
		if first > 0 || !f.tied {
			total += f.head + f.endState
		}
	}
	return total
}

// times multiplies two amounts and stays within bounds.
func times(a, b int64) int64 {
	high, low := bits.Mul64(uint64(max(a, 0)), uint64(max(b, 0)))
	if high > 0 || low > maxBytes {
		return maxBytes
	}
	return int64(low)
}

func bounded(bytes int64) int64 { return min(max(bytes, 0), maxBytes) }
