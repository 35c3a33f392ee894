package memory

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// maxDegree bounds the product of all degrees: more ranks than any instance has.
const maxDegree = 1 << 20

// Stored are the formats that weights and caches are stored in. FP4 is only a rate of computing.
var Stored = []v1alpha1.Precision{
	v1alpha1.FP32, v1alpha1.FP16, v1alpha1.BF16, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4, v1alpha1.NVFP4,
}

// normal checks a setup and fills in its defaults, except for its layout and its limits. It replaces the inference by a
// copy. Each error names the field, its value and what to set.
func (s *Setup) normal() error {
	if s.Model == nil {
		return errors.New("model is missing: name one of the catalogue or give its config.json")
	}
	of, err := engine.Find(s.Engine)
	if err != nil {
		return err
	}
	s.Engine = of.Name
	if (s.Inference == nil) == (s.Training == nil) {
		return errors.New("workload: set exactly one of inference and training")
	}
	if s.KV == "" {
		s.KV = v1alpha1.BF16
	}
	for _, p := range []struct {
		field string
		value v1alpha1.Precision
	}{{"weights", s.Weights}, {"kv", s.KV}} {
		if !slices.Contains(Stored, p.value) {
			return fmt.Errorf("%s %q is not a stored precision: use one of %v", p.field, p.value, Stored)
		}
	}
	if s.Training != nil {
		return checkTraining(s.Training)
	}
	inference := *s.Inference
	s.Inference = &inference
	return nil
}

// degreeFields are the names of a layout's degrees, in the order of the degrees.
var degreeFields = [...]string{"tensor", "pipeline", "data", "attentionData", "context", "expert", "decodeContext"}

func (l *Layout) degrees() [len(degreeFields)]*int {
	return [...]*int{&l.Tensor, &l.Pipeline, &l.Data, &l.AttentionData, &l.Context, &l.Expert, &l.DecodeContext}
}

// normal checks the layout of a setup and fills in its defaults.
func (l *Layout) normal(s *Setup) error {
	for i, degree := range l.degrees() {
		if *degree == 0 {
			*degree = 1
		}
		if *degree < 1 || *degree > maxDegree {
			return fmt.Errorf("layout.%s %d is not a degree: use 1 to %d", degreeFields[i], *degree, maxDegree)
		}
	}
	ranks := 1
	for _, degree := range [...]int{l.Tensor, l.Pipeline, l.Data, l.AttentionData, l.Context} {
		if ranks *= degree; ranks > maxDegree {
			return fmt.Errorf("layout has more than %d ranks: lower tensor, pipeline, data, attentionData or context", maxDegree)
		}
	}
	if layers := int(s.Model.Architecture.Layers); l.Pipeline > layers {
		return fmt.Errorf("layout.pipeline %d is more than the model's %d layers: lower it", l.Pipeline, layers)
	}
	if s.Inference != nil && l.Data > 1 {
		return fmt.Errorf("layout.data %d is for training: set attentionData, or count each replica by itself", l.Data)
	}
	if s.Training != nil && l.AttentionData > 1 {
		return fmt.Errorf("layout.attentionData %d is for inference: set data", l.AttentionData)
	}
	if shared := l.sharing(s.Training != nil); shared%l.Expert != 0 {
		return fmt.Errorf("layout.expert %d does not divide the %d ranks that share the experts of a stage: use a divisor", l.Expert, shared)
	}
	if l.Tensor%l.DecodeContext != 0 {
		return fmt.Errorf("layout.decodeContext %d does not divide layout.tensor %d: use a divisor", l.DecodeContext, l.Tensor)
	}
	if most := engine.CacheCopies(&s.Model.Architecture, l.Tensor); l.DecodeContext > most {
		return fmt.Errorf("layout.decodeContext %d is more than the %d copies that %d tensor ranks keep of a head's cache: lower it", l.DecodeContext, most, l.Tensor)
	}
	return nil
}

// sharing returns the number of ranks of a stage that whole experts are shared among; in training the data and context
// ranks, where there are any.
func (l Layout) sharing(training bool) int {
	if l.apart(training) {
		return l.Data * l.Context
	}
	return l.Tensor * l.Context * l.AttentionData
}

// apart says whether whole experts are shared among ranks other than tensor ranks.
func (l Layout) apart(training bool) bool { return training && l.Data*l.Context > 1 }

// ranks returns the number of ranks of an instance.
func (l Layout) ranks() int { return l.Tensor * l.Pipeline * l.Data * l.AttentionData * l.Context }

const (
	maxTokens    = 1 << 24
	maxSequences = 1 << 20
)

// normal checks the load and fills in the defaults of an engine on a device.
func (in *Inference) normal(m *engine.Memory, d Device) error {
	if in.MaxModelLen == 0 {
		return errors.New("inference.maxModelLen is missing: set the longest sequence in tokens")
	}
	if in.BatchedTokens == 0 || in.BatchedSequences == 0 {
		defaults := m.Limits(d.values(), in.Offline)
		fill(&in.BatchedTokens, defaults.Tokens)
		fill(&in.BatchedSequences, defaults.Sequences)
	}
	fill(&in.Utilization, m.Permille)
	fill(&in.BlockTokens, m.Block)
	fill(&in.Sequences, 1)
	return inBounds([]bound{
		{"inference.maxModelLen", in.MaxModelLen, 1, maxTokens},
		{"inference.sequences", in.Sequences, 1, maxSequences},
		{"inference.mean", in.Mean, 0, in.MaxModelLen},
		{"inference.deviation", in.Deviation, 0, in.MaxModelLen},
		{"inference.batchedTokens", in.BatchedTokens, 1, maxTokens},
		{"inference.batchedSequences", in.BatchedSequences, 1, maxSequences},
		{"inference.utilization", in.Utilization, 1, 1000},
		{"inference.blockTokens", in.BlockTokens, 1, 4096},
		{"inference.shared", in.Shared, 0, in.MaxModelLen},
		{"inference.adapterSlots", in.AdapterSlots, 0, maxSequences},
		{"inference.adapterRank", in.AdapterRank, 0, 4096},
		{"inference.drafted", in.Drafted, 0, 1024},
		{"inference.mediaTokens", in.MediaTokens, 0, maxTokens},
	})
}

// bound is the range of a field.
type bound struct {
	field            string
	value, low, high int64
}

func inBounds(list []bound) error {
	for _, b := range list {
		if b.value < b.low || b.value > b.high {
			return fmt.Errorf("%s %d is out of range: use %d to %d", b.field, b.value, b.low, b.high)
		}
	}
	return nil
}

func fill(field *int64, value int64) {
	if *field == 0 {
		*field = value
	}
}

// Check returns an error for a device with impossible numbers; it names the field, its value and what to set.
func (d Device) Check() error {
	if err := inBounds([]bound{
		{"device.totalBytes", d.TotalBytes, 0, maxBytes},
		{"device.visibleBytes", d.VisibleBytes, 0, maxBytes},
		{"device.othersBytes", d.OthersBytes, 0, maxBytes},
	}); err != nil {
		return err
	}
	if d.TotalBytes == 0 && d.VisibleBytes == 0 {
		return errors.New("device.totalBytes is missing: set the memory that the driver reports")
	}
	return nil
}
