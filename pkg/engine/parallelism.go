package engine

import (
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Parallelism is an engine's rules for degrees, beside the rules that follow from how it divides experts and layers.
type Parallelism struct {
	// Instances is set where the engine serves a dense model by separate copies instead of by data parallelism.
	Instances bool
	// AttentionData is set where groups of devices can each have sequences of their own while all share the experts.
	// AllAttentionData is set where all tensor ranks must then do so.
	AttentionData, AllAttentionData bool
	// WideAbove is the number of data ranks above which each of them has dense blocks and shared experts whole, and sends tokens to
	// the ranks of their experts alone; 0 where there is no such way of running. It takes as many expert ranks, and no tensor ranks.
	WideAbove int
	// DecodeContext is the rule for tensor ranks that share out the tokens of the cache; nil where they cannot.
	DecodeContext *DecodeContext
	// TrainsExperts is set where an expert degree is worth choosing in training.
	TrainsExperts bool
	// Context is the rule for ranks that share out the tokens of a sequence; nil where there are none.
	Context *Context
}

// Context is the rule for what a context degree must divide.
type Context struct {
	// Pieces is how many pieces of a sequence each rank has in training; the length must be a multiple of the number of
	// all pieces. 0 allows any length.
	Pieces int
	// ByTensor is set where tensor ranks divide the pieces further.
	ByTensor bool
	// ByHeads is set where the ranks exchange heads for tokens: their number divides the heads, and they work neither with
	// tensor nor with pipeline parallelism.
	ByHeads bool
}

// Case is a model that is to run with some degrees.
type Case struct {
	// Model is the model's name, for the text of a refusal.
	Model        string
	Architecture *v1alpha1.Architecture
	// Training is the workload; nil in inference.
	Training *v1alpha1.TrainingWorkload
	// Degrees are at least 1. In inference data ranks are groups that attend to sequences of their own and share the
	// experts.
	Tensor, Stages, Data, Context, Expert int
	// Side is the side of the square blocks of weights that share a scale, in weights; 1 or 0 where there are none. No
	// rank may cut a block.
	Side int
	// CutsBlocks says that the tensor ranks cut through such a block in a matrix other than those of routed experts.
	CutsBlocks bool
}

// UnbalancedExpertRanks is how many ranks share out whole experts without their engine balancing them: as many as a host has devices. Among
// more the fullest has so much more to do than the mean that those who run so many balance them, with no experts beside the model's own.
const UnbalancedExpertRanks = 8

// Wide says whether data ranks have all but the routed experts whole: see WideAbove.
func (p *Parallelism) Wide(tensor, data, expert int) bool {
	return p.WideAbove > 0 && data > p.WideAbove && tensor == 1 && expert == data
}

// Refusal is why an engine cannot run a case.
type Refusal struct {
	// Degree is the degree that the engine refuses, Value the value it has.
	Degree string
	Value  int

	format    string
	arguments []any
}

// The degrees.
const (
	DegreeTensor   = "tensor"
	DegreePipeline = "pipeline"
	DegreeData     = "data"
	DegreeContext  = "context"
	DegreeExpert   = "expert"
)

// Reason says why the degree is refused and what to use instead.
func (r *Refusal) Reason() string { return fmt.Sprintf(r.format, r.arguments...) }

func (r *Refusal) Error() string { return fmt.Sprintf("%s %d: %s", r.Degree, r.Value, r.Reason()) }

// refuse formats nothing: a search makes far more refusals than it shows.
func refuse(degree string, value int, format string, arguments ...any) *Refusal {
	return &Refusal{degree, value, format, arguments}
}

// Refuses says why the engine cannot run a case; nil where it can.
func (e *Engine) Refuses(c *Case) *Refusal {
	for _, rule := range [...]func(*Case) *Refusal{e.RefusesJob, e.refusesTensor, e.RefusesPipeline, e.RefusesData, e.RefusesContext, e.RefusesExperts} {
		if r := rule(c); r != nil {
			return r
		}
	}
	return nil
}

// refusesTensor says why tensor ranks cannot share the layers.
func (e *Engine) refusesTensor(c *Case) *Refusal {
	switch {
	case !splits(c.Architecture, c.Tensor):
		return unsplit(c)
	case c.CutsBlocks:
		return refuse(DegreeTensor, c.Tensor, "matrices of %s would be cut inside of a block of %d weights that share a scale: use fewer ranks", c.Model, c.Side)
	default:
		return nil
	}
}

// RefusesPipeline says why there cannot be so many stages.
func (e *Engine) RefusesPipeline(c *Case) *Refusal {
	a, s := c.Architecture, &e.Stages
	if c.Stages <= 1 {
		return e.refusesInterleaving(c)
	}
	if c.Stages > int(a.Layers) {
		return refuse(DegreePipeline, c.Stages, "%s has %d layers: use at most that", c.Model, a.Layers)
	}
	for _, t := range s.Without {
		if t.has(a) {
			return refuse(DegreePipeline, c.Stages, "%s has no pipelines of models with %s: leave it out or set it to 1", e.Name, t.words)
		}
	}
	if !s.Cuts.Possible(int(a.Layers), c.Stages) {
		return refuse(DegreePipeline, c.Stages, "%s divides layers evenly, and %d stages do not divide %d", e.Name, c.Stages, a.Layers)
	}
	if s.Shardings != nil && c.Training != nil && !slices.Contains(s.Shardings, c.Training.Sharding) {
		return refuse(DegreePipeline, c.Stages, "%s has no pipelines with sharding %s: use %s", e.Name, c.Training.Sharding, s.Shardings[len(s.Shardings)-1])
	}
	if count := c.MicroBatches(); count > 0 && s.MicroBatches != nil && !s.MicroBatches(count, c.Stages) {
		return refuse(DegreePipeline, c.Stages, "%s cannot run %d stages with %d micro-batches of a data rank in a step", e.Name, c.Stages, count)
	}
	return e.refusesInterleaving(c)
}

// MicroBatches returns the number of micro-batches of a data rank in a step of training; 0 in inference.
func (c *Case) MicroBatches() int {
	if c.Training == nil {
		return 0
	}
	return int(c.Training.GlobalBatch) / (max(1, int(c.Training.MicroBatch)) * max(1, c.Data))
}

// RefusesContext says why ranks cannot share out the tokens of a sequence.
func (e *Engine) RefusesContext(c *Case) *Refusal {
	if r := e.refusesTokens(c); r != nil {
		return r
	}
	rule := e.Parallelism.Context
	switch {
	case c.Context <= 1:
		return nil
	case rule == nil:
		return refuse(DegreeContext, c.Context, "%s has no context parallelism that adds devices: leave it out or set it to 1", e.Name)
	}
	pieces := rule.Pieces * c.Context
	if rule.ByTensor {
		pieces *= c.Tensor
	}
	heads := int(c.Architecture.Attention.Heads)
	switch {
	case rule.ByHeads && heads%c.Context != 0:
		return refuse(DegreeContext, c.Context, "%s needs a divisor of the %d heads of %s", e.Name, heads, c.Model)
	case rule.ByHeads && (c.Tensor > 1 || c.Stages > 1):
		return refuse(DegreeContext, c.Context, "%s has it at tensor 1 and pipeline 1 alone, not at %d and %d", e.Name, c.Tensor, c.Stages)
	case c.Training != nil && pieces > 0 && int(c.Training.SequenceLength)%pieces != 0:
		return refuse(DegreeContext, c.Context, "sequenceLength %d is no multiple of %d, as %s needs it", c.Training.SequenceLength, pieces, e.Name)
	default:
		return nil
	}
}

// RefusesData says why data ranks cannot lie beside tensor ranks. Engines whose tensor degree holds the data ranks split
// dense blocks and shared experts over all of them, unless they are Wide. Source: SGLang's DeepseekV2MLP, whose tensor degree
// is the engine's unless --moe-dense-tp-size says otherwise.
func (e *Engine) RefusesData(c *Case) *Refusal {
	if r := e.RefusesAttentionData(c); r != nil {
		return r
	}
	moe := c.Architecture.MoE
	if moe == nil || c.Data <= 1 || !e.Ranks.TensorHoldsData || e.Parallelism.Wide(c.Tensor, c.Data, c.Expert) {
		return nil
	}
	ranks := c.Tensor * c.Data
	for _, width := range [...]int32{denseWidth(c.Architecture), moe.SharedIntermediateSize} {
		if c.cuts(width, ranks) {
			return refuse(DegreeData, c.Data, "its %d ranks with those of tensor cannot share the width %d of %s evenly and in whole blocks: lower it", ranks, width, c.Model)
		}
	}
	return nil
}

// RefusesAttentionData says why there cannot be data ranks beside tensor ranks at all.
func (e *Engine) RefusesAttentionData(c *Case) *Refusal {
	if c.Data > 1 && c.Tensor > 1 && e.Parallelism.AllAttentionData {
		return refuse(DegreeData, c.Data, "%s has as many data ranks as tensor ranks, which are counted once: set tensor to 1 and data to the number of devices", e.Name)
	}
	return nil
}

// denseWidth returns the width of dense feed-forward blocks; 0 where no layer has one.
func denseWidth(a *v1alpha1.Architecture) int32 {
	if moe := a.MoE; moe != nil && moe.FirstLayer <= 0 && moe.Interval <= 1 {
		return 0
	}
	return a.MLP.IntermediateSize
}

// cuts says whether ranks cut a width unevenly or through a block.
func (c *Case) cuts(width int32, ranks int) bool {
	return ranks > 1 && (int(width)%ranks != 0 || int(width)/ranks%max(1, c.Side) != 0)
}

// RefusesExperts says why ranks cannot share the experts. In training the tensor ranks share the width of an expert; in
// inference the ranks of a stage that an expert degree leaves do. Weights in blocks can be cut only along the blocks;
// where the width allows no such cut, a larger expert degree shares out whole experts.
func (e *Engine) RefusesExperts(c *Case) *Refusal {
	moe := c.Architecture.MoE
	if moe == nil {
		if c.Expert > 1 {
			return refuse(DegreeExpert, c.Expert, "%s has no experts: leave it out or set it to 1", c.Model)
		}
		return nil
	}
	sharers := e.Ranks.Experts.Sharers(c.Tensor, c.Data, c.Context)
	if c.Expert > 1 && !e.Ranks.Experts.Fit(c.Expert, c.Tensor, c.Data, c.Context) {
		if e.Ranks.Experts.Whole {
			return refuse(DegreeExpert, c.Expert, "the %d ranks of a stage share experts all together in %s: use %d", sharers, e.Name, sharers)
		}
		return refuse(DegreeExpert, c.Expert, "the %d ranks that share the experts of a stage in %s cannot be grouped by it: use a divisor of %d", sharers, e.Name, sharers)
	}
	if int(moe.Experts)%c.Expert != 0 {
		return refuse(DegreeExpert, c.Expert, "the %d experts of %s cannot be shared out evenly: use a divisor of %d", moe.Experts, c.Model, moe.Experts)
	}
	ranks := c.Tensor
	if c.Training == nil {
		ranks = c.Tensor * c.Data * c.Context / c.Expert
	}
	if c.cuts(moe.IntermediateSize, ranks) {
		return refuse(DegreeExpert, c.Expert, "%d ranks would cut the width %d of an expert of %s unevenly or inside of a block: use %d", ranks, moe.IntermediateSize, c.Model, sharers)
	}
	return nil
}
