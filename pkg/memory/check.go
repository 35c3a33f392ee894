package memory

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// maxDegree bounds the product of all degrees: more ranks than any instance has.
const maxDegree = 1 << 20

// stored are the formats that weights and caches are stored in. FP4 is a rate and not one of them.
var stored = []v1alpha1.Precision{
	v1alpha1.FP32, v1alpha1.FP16, v1alpha1.BF16, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4, v1alpha1.NVFP4,
}

// normal checks a setup and fills in its defaults. Each error names the field, its value and what to set.
func (s Setup) normal(limits Device) (Setup, error) {
	if s.Model == nil {
		return s, errors.New("model is missing: name one of the catalogue or give its config.json")
	}
	if s.Engine == "" {
		s.Engine = v1alpha1.EngineVLLM
	}
	if _, ok := engines[s.Engine]; !ok {
		return s, fmt.Errorf("engine %q is not known: use one of %v", s.Engine, Engines())
	}
	if (s.Inference == nil) == (s.Training == nil) {
		return s, errors.New("workload: set exactly one of inference and training")
	}
	if s.KV == "" {
		s.KV = v1alpha1.BF16
	}
	for _, p := range []struct {
		field string
		value v1alpha1.Precision
	}{{"weights", s.Weights}, {"kv", s.KV}} {
		if !slices.Contains(stored, p.value) {
			return s, fmt.Errorf("%s %q is not a stored precision: use one of %v", p.field, p.value, stored)
		}
	}
	var err error
	if s.Layout, err = s.Layout.normal(s); err != nil {
		return s, err
	}
	if s.Training != nil {
		return s, checkTraining(s.Training)
	}
	inference, err := s.Inference.normal(engines[s.Engine], limits)
	s.Inference = &inference
	return s, err
}

func (l Layout) normal(s Setup) (Layout, error) {
	ranks := 1
	for _, d := range []struct {
		field string
		value *int
	}{
		{"tensor", &l.Tensor},
		{"pipeline", &l.Pipeline},
		{"data", &l.Data},
		{"attentionData", &l.AttentionData},
		{"context", &l.Context},
		{"expert", &l.Expert},
		{"decodeContext", &l.DecodeContext},
	} {
		if *d.value == 0 {
			*d.value = 1
		}
		if *d.value < 1 || *d.value > maxDegree {
			return l, fmt.Errorf("layout.%s %d is not a degree: use 1 to %d", d.field, *d.value, maxDegree)
		}
	}
	for _, degree := range []int{l.Tensor, l.Pipeline, l.Data, l.AttentionData, l.Context} {
		if ranks *= degree; ranks > maxDegree {
			return l, fmt.Errorf("layout has more than %d ranks: lower tensor, pipeline, data, attentionData or context", maxDegree)
		}
	}
	if layers := int(s.Model.Architecture.Layers); l.Pipeline > layers {
		return l, fmt.Errorf("layout.pipeline %d is more than the model's %d layers: lower it", l.Pipeline, layers)
	}
	if s.Inference != nil && l.Data > 1 {
		return l, fmt.Errorf("layout.data %d is for training: set attentionData, or count each replica by itself", l.Data)
	}
	if s.Training != nil && l.AttentionData > 1 {
		return l, fmt.Errorf("layout.attentionData %d is for inference: set data", l.AttentionData)
	}
	if shared := l.sharing(s.Training != nil); shared%l.Expert != 0 {
		return l, fmt.Errorf("layout.expert %d does not divide the %d ranks that share the experts of a stage: use a divisor", l.Expert, shared)
	}
	if l.Tensor%l.DecodeContext != 0 {
		return l, fmt.Errorf("layout.decodeContext %d does not divide layout.tensor %d: use a divisor", l.DecodeContext, l.Tensor)
	}
	if most := decodeContextLimit(s, l.Tensor); l.DecodeContext > most {
		return l, fmt.Errorf("layout.decodeContext %d is more than the %d copies that %d tensor ranks keep of a head's cache: lower it", l.DecodeContext, most, l.Tensor)
	}
	return l, nil
}

// sharing is the number of ranks of a stage that whole experts are shared among: in training those of data and context,
// where there are any.
func (l Layout) sharing(training bool) int {
	if l.apart(training) {
		return l.Data * l.Context
	}
	return l.Tensor * l.Context * l.AttentionData
}

// apart says whether whole experts are shared among ranks that are no tensor ranks.
func (l Layout) apart(training bool) bool { return training && l.Data*l.Context > 1 }

// ranks is the number of ranks of an instance.
func (l Layout) ranks() int { return l.Tensor * l.Pipeline * l.Data * l.AttentionData * l.Context }

// decodeContextLimit is how many copies of the same cache tensor ranks would hold, which is as far as sharing its tokens
// can go: all of them of a latent, ranks over heads otherwise. Source: vLLM's check of decode_context_parallel_size.
func decodeContextLimit(s Setup, tensor int) int {
	a := &s.Model.Architecture
	if a.Attention.MLA != nil {
		return tensor
	}
	return max(1, tensor/max(1, int(a.Attention.KVHeads)))
}

const (
	maxTokens    = 1 << 24
	maxSequences = 1 << 20
)

func (in *Inference) normal(e engine, d Device) (Inference, error) {
	n := *in
	if n.MaxModelLen == 0 {
		return n, errors.New("inference.maxModelLen is missing: set the longest sequence in tokens")
	}
	defaults := e.limits(d, n.Offline)
	fill(&n.BatchedTokens, defaults.tokens)
	fill(&n.BatchedSequences, defaults.sequences)
	fill(&n.Utilization, e.permille)
	fill(&n.BlockTokens, e.block)
	fill(&n.Sequences, 1)
	for _, f := range []struct {
		field string
		value int64
		most  int64
	}{
		{"maxModelLen", n.MaxModelLen, maxTokens},
		{"sequences", n.Sequences, maxSequences},
		{"batchedTokens", n.BatchedTokens, maxTokens},
		{"batchedSequences", n.BatchedSequences, maxSequences},
		{"utilization", n.Utilization, 1000},
		{"blockTokens", n.BlockTokens, 4096},
	} {
		if f.value < 1 || f.value > f.most {
			return n, fmt.Errorf("inference.%s %d is out of range: use 1 to %d", f.field, f.value, f.most)
		}
	}
	return n, nil
}

func fill(field *int64, value int64) {
	if *field == 0 {
		*field = value
	}
}

// Check refuses a device whose numbers cannot be, naming the field, its value and what to set.
func (d Device) Check() error {
	for _, f := range []struct {
		field string
		value int64
	}{{"totalBytes", d.TotalBytes}, {"visibleBytes", d.VisibleBytes}, {"othersBytes", d.OthersBytes}} {
		if f.value < 0 || f.value > maxBytes {
			return fmt.Errorf("device.%s %d is out of range: use 0 to %d bytes", f.field, f.value, int64(maxBytes))
		}
	}
	if d.TotalBytes == 0 && d.VisibleBytes == 0 {
		return errors.New("device.totalBytes is missing: set the memory that the driver reports")
	}
	return nil
}
