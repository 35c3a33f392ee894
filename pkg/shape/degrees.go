package shape

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// Degrees is one choice of the degrees within a stage.
type Degrees struct {
	Tensor, Data, Expert, Context, Decode int
	// Inside is how many of the data and context ranks share an island, together with the tensor ranks of each.
	Inside int
}

// Shape returns the degrees as the shape of an instance whose number of stages is not set.
func (d *Degrees) Shape() Shape {
	return Shape{Tensor: d.Tensor, Data: d.Data, Expert: d.Expert, Context: d.Context, Decode: d.Decode}
}

// apart returns how many groups of devices that share an island a stage of a copy has.
func (d *Degrees) apart() int { return d.Data * d.Context / d.Inside }

// Choices returns the degrees that the model, the engine, the setting and the flavor allow.
func (t *Problem) Choices(s Setting, l *Flavor) []Degrees {
	found := make([]Degrees, 0, 8)
	side := t.Model.BlockSide(s.Weights)
	for _, tensor := range t.TensorDegrees(l.Limit) {
		if l.Apart && (tensor > 1 || t.Asked.Data > 1 || t.Asked.Context > 1) {
			break
		}
		if t.cutsBlocks(s.Format, tensor) || t.uneven(tensor, l) {
			continue
		}
		for _, data := range t.datas(tensor, l) {
			if data > 1 && t.Engine.RefusesData(t.ranks(side, tensor, data, 1)) != nil {
				continue
			}
			for _, context := range t.contexts(l, tensor, s.Divided) {
				decodes := t.decodes(s.Cache, l, tensor, context)
				for _, expert := range t.experts(side, tensor, data, context) {
					for _, decode := range decodes {
						found = t.islands(found, Degrees{Tensor: tensor, Data: data, Expert: expert, Context: context, Decode: decode}, l.Limit)
					}
				}
			}
		}
	}
	return found
}

// islands adds the ways in which data and context ranks may share islands. Ranks of attention data parallelism exchange
// tokens in every layer: they share one island or fill several, and lie anywhere only where they are asked for; in training it is
// context ranks that share one, and data ranks lie anywhere.
func (t *Problem) islands(found []Degrees, d Degrees, limit int) []Degrees {
	together, spread := d.Context, true
	if t.Workload.Training == nil {
		together = d.Context * d.Data
		spread = d.Data == 1 || t.Asked.Data > 1
	}
	if d.Inside = together; together > 1 && d.Tensor*together <= limit {
		found = append(found, d)
	}
	if fill := limit / d.Tensor; t.Workload.Inference != nil && fill > 1 && together > fill && together%fill == 0 {
		d.Inside = fill
		found = append(found, d)
	}
	if d.Inside = 1; together == 1 || spread {
		found = append(found, d)
	}
	return found
}

// alone is the list of degrees where only 1 is possible.
var alone = []int{1}

// TensorDegrees returns the tensor degrees up to a limit that the model allows, rising; the one that is asked for alone.
func (t *Problem) TensorDegrees(limit int) []int {
	if n := t.Asked.Tensor; n > 0 {
		return []int{n}
	}
	splits := t.subject.splits
	splits = splits[:sortedUpTo(splits, limit)]
	if t.drafts == nil {
		return splits
	}
	return slices.DeleteFunc(slices.Clone(splits), func(n int) bool { return !slices.Contains(t.drafts, n) })
}

// maxTensor is the largest tensor degree that is chosen.
const maxTensor = 256

func sortedUpTo(sorted []int, limit int) int {
	at, found := slices.BinarySearch(sorted, limit)
	if found {
		at++
	}
	return at
}

// datas returns the data degrees, rising. In inference data ranks attend to sequences of their own and share the experts,
// so only mixtures have them. In training more ranks need less memory only where they share out the states; their number
// divides the micro-batches of a step.
func (t *Problem) datas(tensor int, l *Flavor) []int {
	if t.Asked.Data > 0 {
		return []int{t.Asked.Data}
	}
	if l.Apart {
		return alone
	}
	if w := t.Workload.Training; w != nil {
		if !shards(w.Sharding) {
			return alone
		}
		degrees := []int{1}
		passes := int(w.GlobalBatch) / max(1, int(w.MicroBatch))
		for d := 2; d <= min(passes, l.Devices/max(1, tensor)); d++ {
			if int(w.GlobalBatch)%(d*max(1, int(w.MicroBatch))) == 0 {
				degrees = append(degrees, d)
			}
		}
		return degrees
	}
	if t.Model.Architecture.MoE == nil || !t.Engine.Parallelism.AttentionData {
		return alone
	}
	degrees := []int{1}
	for d := 2; d*tensor <= maxExpertRanks && (d*tensor <= l.Limit || t.fills(l, d, tensor)); d *= 2 {
		degrees = append(degrees, d)
	}
	return degrees
}

// fills says whether so many groups of tensor ranks may fill several islands: the rate between these is known, and each group has a
// sequence. Remedies imagine none.
func (t *Problem) fills(l *Flavor, data, tensor int) bool {
	return l.Pool != nil && l.Wires != nil && l.Wires.Network > 0 && t.Asked.Stages <= 1 && data <= int(t.Workload.Inference.MaxSequences) && data*tensor*t.Copies <= l.Devices &&
		data*tensor%l.Limit == 0
}

// shards says whether data ranks share out states.
func shards(s v1alpha1.TrainingSharding) bool { return s != "" && s != "None" }

// maxExpertRanks bounds the ranks among which attention data parallelism that is chosen shares out experts: twice the 32 among which the
// makers of DeepSeek-V3 share them while reading prompts. Source: DeepSeek-V3/R1 Inference System Overview, 2025.
const maxExpertRanks = 64

// maxContext is the largest context degree that is chosen.
const maxContext = 64

// contexts returns the context degrees. They are chosen in training alone, where context ranks share the activations; in
// inference each rank keeps the whole cache.
func (t *Problem) contexts(l *Flavor, tensor int, divided bool) []int {
	if t.Asked.Context > 0 {
		return []int{t.Asked.Context}
	}
	if l.Apart || !divided || t.Workload.Training == nil {
		return alone
	}
	var degrees []int
	for d := 2; d <= maxContext; d *= 2 {
		if t.Engine.RefusesContext(t.runs(Shape{Tensor: tensor, Stages: 1, Context: d})) == nil {
			degrees = append(degrees, d)
		}
	}
	return degrees
}

// decodes returns the numbers of tensor ranks that may share out the tokens of a cache in a format on a flavor.
func (t *Problem) decodes(cache v1alpha1.Precision, l *Flavor, tensor, context int) []int {
	if t.Workload.Inference == nil || tensor == 1 || context > 1 {
		return alone
	}
	return t.Engine.DecodeContexts(&t.Model.Architecture, t.vendorOf(l), cache, tensor)
}

// joining returns a pool without the devices that cannot be ranks of one group.
func (t *Problem) joining(p *Pool) *Pool {
	apart := func(kind []int32) bool { return t.Classes[p.Parts[kind[0]].Class].Apart() }
	if !slices.ContainsFunc(p.Kinds, apart) {
		return p
	}
	rest := &Pool{Vendor: p.Vendor, Parts: p.Parts, Kinds: slices.DeleteFunc(slices.Clone(p.Kinds), apart), Zones: make([]zone, len(p.Zones))}
	for i := range p.Zones {
		for _, at := range p.Zones[i].Parts {
			if part := &p.Parts[at]; !t.Classes[part.Class].Apart() {
				rest.Zones[i].Parts = append(rest.Zones[i].Parts, at)
				rest.Zones[i].add(part)
			}
		}
	}
	return rest
}

// vendorOf returns the vendor of the devices of a flavor, also where they are of several classes.
func (t *Problem) vendorOf(l *Flavor) string {
	if l.Pool != nil {
		return l.Pool.Vendor
	}
	return t.Cluster.Class(l.Class).Vendor
}

// ranks returns the case that the engine is asked about: one stage in some degrees, of weights that share scales in
// square blocks of a side. Until experts are shared out, it has the expert degree that is asked for, or one for each data rank.
func (t *Problem) ranks(side, tensor, data, context int) *engine.Case {
	c := t.runs(Shape{Tensor: tensor, Stages: 1, Data: data, Context: context, Expert: cmp.Or(t.Asked.Expert, data)})
	c.Side = side
	return c
}

// experts returns the expert degrees: 1, and the number of all ranks that may share out experts. Weights in square blocks
// with one scale can be cut only along the blocks; where the width allows no such cut, only whole experts are shared out.
func (t *Problem) experts(side, tensor, data, context int) []int {
	moe := t.Model.Architecture.MoE
	if moe == nil {
		return alone
	}
	c := t.ranks(side, tensor, data, context)
	fits := func(expert int) bool {
		c.Expert = expert
		return t.Engine.RefusesExperts(c) == nil
	}
	if n := t.Asked.Expert; n > 0 {
		if !fits(n) {
			return nil
		}
		return []int{n}
	}
	degrees := make([]int, 0, 2)
	if (t.Workload.Training != nil || data == 1) && fits(1) {
		degrees = append(degrees, 1)
	}
	ranks := tensor * data * context
	if t.Workload.Training != nil {
		if !t.Engine.Parallelism.TrainsExperts {
			return degrees
		}
		ranks = divisor(int(moe.Experts), t.Engine.Ranks.Experts.Sharers(tensor, data, context))
	}
	if ranks > 1 && fits(ranks) {
		degrees = append(degrees, ranks)
	}
	return degrees
}

// divisor returns the greatest common divisor of two numbers.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// cutsBlocks says whether tensor ranks would cut through a block of weights that are no routed experts'.
func (t *Problem) cutsBlocks(s Format, tensor int) bool {
	if tensor <= 1 || t.Model.BlockSide(s.Weights) <= 1 {
		return false
	}
	return t.subject.cutsBlocks(cutKey{s.Weights, tensor})
}

// InstancesOf returns how many groups that share an island a stage of all copies has.
func (t *Problem) InstancesOf(d Degrees) int { return t.Copies * d.apart() }

// Group returns how many devices must share an island.
func (d *Degrees) Group() int { return d.Tensor * max(1, d.Inside) }
