package engine

import (
	"slices"
	"strings"
)

// Ranks is how an engine numbers its ranks.
type Ranks struct {
	// Order is the dimensions of ranks, fastest first, joined by hyphens. OrderFor adds a dimension that a plan needs and
	// the order lacks.
	Order string
	// TensorHoldsData is set where the engine's own tensor degree includes the data ranks, as in the attention data
	// parallelism of SGLang and TensorRT-LLM. A strategy counts data ranks separately, so that the product of its degrees
	// is the number of devices: such an engine is started with a tensor degree of tensor x data.
	TensorHoldsData bool
	// Experts is how ranks share experts.
	Experts Experts
	// ByMPI is set where MPI starts the processes; they exchange data by it where the devices have no library of their
	// own.
	ByMPI bool
}

// Experts is how an engine lays expert-parallel groups over ranks that the other dimensions already have.
type Experts struct {
	// Over are the dimensions whose ranks share the experts of a stage: tp, cp and dp.
	Over []string
	// Strided is set where the members of a group are as far apart among these ranks as they can be, instead of
	// neighbours.
	Strided bool
	// Whole is set where a group is always all of these ranks.
	Whole bool
}

// OrderFor returns Order with the context dimension right after tensor where a context degree needs it, as in vLLM's PP x
// PCP x TP.
func (r *Ranks) OrderFor(context int) string {
	if context <= 1 || slices.Contains(strings.Split(r.Order, "-"), "cp") {
		return r.Order
	}
	first, rest, _ := strings.Cut(r.Order, "-")
	return first + "-cp-" + rest
}

// StagesBeforeData says whether ranks are numbered through the stages before they come to the next data rank.
func (r *Ranks) StagesBeforeData() bool {
	return strings.Index(r.Order, "pp") < strings.Index(r.Order, "dp")
}

// Tensor returns the tensor degree that the engine is started with.
func (r *Ranks) Tensor(tensor, data int) int {
	if r.TensorHoldsData {
		return tensor * data
	}
	return tensor
}

// Sharers returns how many ranks of a stage share its experts at some degrees.
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
