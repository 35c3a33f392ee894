package cost

import "math"

// Engine is a serving engine with constants of its own.
type Engine string

// The engines that constants were fitted for. Before version 1, TensorRT-LLM ran compiled engines.
const (
	VLLM           Engine = "vLLM"
	SGLang         Engine = "SGLang"
	TensorRTLLM    Engine = "TensorRT-LLM"
	TensorRTLLMOld Engine = "TensorRT-LLM 0"
	Megatron       Engine = "Megatron" // training
)

// Family is what constants belong to.
type Family struct {
	Architecture string
	Engine       Engine
	Class        Class
}

// Calibration is the constants of all families: the logarithm of a constant is the sum of a base and of what the
// architecture, the engine and the class add to it, so that a family that was not measured has constants as well.
type Calibration struct {
	Base          Logarithms            `json:"base"`
	Architectures map[string]Logarithms `json:"architectures"`
	Engines       map[Engine]Logarithms `json:"engines"`
	Classes       map[Class]Logarithms  `json:"classes"`
	Families      map[Family]Logarithms `json:"families"`
}

// Logarithms are natural logarithms of constants, or what is added to them.
type Logarithms [constants]float64

// Constants returns those of a family. A part of the family that is not known adds nothing.
func (c *Calibration) Constants(f Family) Constants {
	sum := c.Base
	for _, offsets := range [4]Logarithms{c.Architectures[f.Architecture], c.Engines[f.Engine], c.Classes[f.Class], c.Families[f]} {
		for i := range sum {
			sum[i] += offsets[i]
		}
	}
	var values Constants
	for i := range sum {
		values[i] = math.Exp(sum[i])
	}
	return values
}
