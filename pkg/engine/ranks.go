package engine

import (
	"slices"
	"strings"
)

// Ranks is how an engine numbers its ranks.
type Ranks struct {
	// Order is the dimensions, fastest first, joined by hyphens. One that a plan needs and the order lacks is added by
	// OrderFor.
	Order string
	// TensorHoldsData is set where the engine's own tensor degree counts the data ranks as well, as the attention data
	// parallelism of SGLang and TensorRT-LLM does. A strategy counts them apart, so that the product of its degrees is the
	// number of devices: such an engine is started with a tensor degree of tensor x data.
	TensorHoldsData bool
	// Experts is how ranks share experts.
	Experts Experts
	// ByMPI is set where processes start by MPI, by which they exchange where the devices have no library of their own.
	ByMPI bool
}

// Experts is how an engine lays expert-parallel groups over ranks that the other dimensions already have.
type Experts struct {
	// Over are the dimensions whose ranks share the experts of a stage: tp, cp and dp.
	Over []string
	// Strided is set where the members of a group are the farthest apart among those ranks instead of neighbours.
	Strided bool
	// Whole is set where a group is always all of those ranks.
	Whole bool
}

// OrderFor is the order with what it lacks for a context degree: context right after tensor, as in vLLM's PP x PCP x TP.
func (r *Ranks) OrderFor(context int) string {
	if context <= 1 || slices.Contains(strings.Split(r.Order, "-"), "cp") {
		return r.Order
	}
	first, rest, _ := strings.Cut(r.Order, "-")
	return first + "-cp-" + rest
}

// Tensor is what the engine calls its tensor degree.
func (r *Ranks) Tensor(tensor, data int) int {
	if r.TensorHoldsData {
		return tensor * data
	}
	return tensor
}

// Sharers is how many ranks of a stage share its experts at some degrees.
func (e *Experts) Sharers(tensor, data, context int) int {
	ranks := 1
	for _, name := range e.Over {
		switch name {
		case "tp":
			ranks *= tensor
		case "dp":
			ranks *= data
		case "cp":
			ranks *= context
		}
	}
	return ranks
}

// Fit says whether so many ranks can share experts at some degrees.
func (e *Experts) Fit(expert, tensor, data, context int) bool {
	ranks := e.Sharers(tensor, data, context)
	return expert == ranks || !e.Whole && ranks%expert == 0
}
