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
	Torch          Engine = "Torch"    // training
)

// Family is what a set of constants belongs to.
type Family struct {
	Architecture string `json:"architecture"`
	Engine       Engine `json:"engine"`
	Class        Class  `json:"class"`
}

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

// beyond returns the basis of what was not measured of a family.
func (c *Calibration) beyond(f Family, m *Measured) Basis {
	_, architecture := c.Architectures[f.Architecture]
	_, engine := c.Engines[f.Engine]
	if m != nil || architecture || engine {
		return Related
	}
	return Roofline
}
