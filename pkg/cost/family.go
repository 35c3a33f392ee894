package cost

import "math"

// Engine is an engine with constants of its own.
type Engine string

// The engines that constants were fitted for. Before version 1, TensorRT-LLM ran compiled engines.
const (
	VLLM           Engine = "vLLM"
	SGLang         Engine = "SGLang"
	TensorRTLLM    Engine = "TensorRT-LLM"
	TensorRTLLMOld Engine = "TensorRT-LLM 0"
	Megatron       Engine = "Megatron" // training
)

// Family is what a set of constants belongs to.
type Family struct {
	Architecture string `json:"architecture"`
	Engine       Engine `json:"engine"`
	Class        Class  `json:"class"`
}

// Basis says what an estimate rests on.
type Basis string

// The bases, from the surest.
const (
	// Fitted is the basis of a family whose constants were fitted to its own measurements.
	Fitted Basis = "fitted"
	// Related is the basis of a family that was not measured, where others of its architecture or engine were, and of shapes of a kind that was
	// not measured (decode context parallelism).
	Related Basis = "related families"
	// Roofline is the basis of a family of which neither architecture nor engine was measured.
	Roofline Basis = "roofline"
)

// Constants returns the constants of a family. A part of the family that is not known adds nothing.
func (c *Calibration) Constants(f Family) Constants { return c.constants(f, c.measured(f)) }

func (c *Calibration) constants(f Family, m *Measured) Constants {
	sum := c.Base
	for _, offsets := range [3]Logarithms{c.Architectures[f.Architecture], c.Engines[f.Engine], c.Classes[f.Class]} {
		sum.add(&offsets)
	}
	if m != nil {
		sum.add(&m.Offsets)
	}
	var values Constants
	for i := range sum {
		values[i] = math.Exp(sum[i])
	}
	return values
}

// measured returns a family's entry among those that were measured; nil where there is none.
func (c *Calibration) measured(f Family) *Measured {
	for i := range c.Families {
		if c.Families[i].Family == f {
			return &c.Families[i]
		}
	}
	return nil
}

func (l *Logarithms) add(other *Logarithms) {
	for i := range l {
		l[i] += other[i]
	}
}

// basis returns what a family's constants rest on.
func (c *Calibration) basis(f Family, m *Measured) Basis {
	_, architecture := c.Architectures[f.Architecture]
	_, engine := c.Engines[f.Engine]
	switch {
	case m != nil:
		return Fitted
	case architecture || engine:
		return Related
	default:
		return Roofline
	}
}
