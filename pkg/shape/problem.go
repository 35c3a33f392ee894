package shape

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/price"
)

// Request is what to plan.
type Request struct {
	// Placement asks for the plan.
	Placement *v1alpha1.ModelPlacement
	// Model is the placement's model, resolved.
	Model *model.Model
	// Previous is the plan that is in force, if any; its devices must be free in the cluster. Copies of it that still
	// hold are kept.
	Previous *v1alpha1.ShardingPlanSpec
	// Cause is why Previous is not enough.
	Cause Cause
	// Room is which nodes have room for the placement's pods; nil is room everywhere.
	Room *fleet.Room
	// Pods returns the devices of each pod that a plan has on each of its nodes, as its launcher is started; nil takes one pod for all that a copy
	// has on a node, or one for each so many devices as the placement says.
	Pods func(*v1alpha1.ShardingPlanSpec) map[string][][]v1alpha1.DeviceID
	// Tolerations are those that the placement's pods have beside the placement's own.
	Tolerations []corev1.Toleration
	// Prices are what devices cost by product; nil takes the built-in table.
	Prices func(product string) (price.Price, bool)
	// Site is what was measured at the site; nil where nothing was.
	Site *cost.Site
	// Limits are the batch of a step; 0 takes what the engine does.
	Limits Limits
	// Discreet keeps the names of other namespaces' placements out of what is said, which only some may read.
	Discreet bool

	done <-chan struct{} // see Problem.Until
}

// Cause is why a plan is replaced.
type Cause int

const (
	// LostDevices says that devices of the plan are lost: the failure policy says which shapes a new plan may have.
	LostDevices Cause = iota
	// OtherCopies says that only the number of copies changed.
	OtherCopies
	// OtherRequest says that something else was asked for when the plan was made. A plan is made as if there were none, and copies
	// are kept only where that is as good.
	OtherRequest
)

// Asked are the degrees of parallelism that are asked for; 0 where a degree is free.
type Asked struct{ Tensor, Stages, Data, Expert, Context int }

// Problem is a valid request on a cluster, with its defaults filled in. It never changes: With and On make another one, to see
// what would happen if one thing were different.
type Problem struct {
	request  Request
	Cluster  *fleet.Cluster
	Classes  []*Class // by their numbers in the cluster
	Model    *model.Model
	subject  *knownModel // what is known of the model
	Spec     *v1alpha1.ModelPlacementSpec
	Workload v1alpha1.Workload
	Engine   *engine.Engine
	Use      engine.Use
	Require  requirements
	Prefer   string // preferred topology level
	Ladder   []Format
	Asked    Asked
	Copies   int // independent copies; the least, where their number is open
	// Open says that the number of copies is for the planner to choose: a multiple of Copies.
	Open   bool
	Keep   map[int32]bool
	Prices func(product string) (price.Price, bool)
	// Defaults are what the engine's version does by default.
	Defaults *engine.Memory
	served   serving
	limits   Limits // of a step; 0 takes what the engine does
	// mediaTokens are those of the images and the sound of a prompt, drafts the tensor degrees of what drafts tokens; nil where any will do.
	mediaTokens int64
	drafts      []int
	*ground

	calibration *cost.Calibration
}

// ground is what was derived from the devices that a problem may choose from. Problems that differ in other things share it.
type ground struct {
	matched map[string]Matches     // by the set of classes that suit, and topology level
	hourly  map[int32]*price.Price // by class, as far as asked for; zero where there is no price
}

// Instances returns the number of times that the model is placed: data ranks that are asked for count one by one.
func (t *Problem) Instances() int { return t.Copies * max(1, t.Asked.Data) }

// New reads a request on a cluster. The error is an *InvalidRequest where the request cannot be meant.
func New(cluster *fleet.Cluster, request Request) (*Problem, error) {
	if request.Placement == nil || request.Model == nil {
		return nil, invalid("model", "not resolved", "give the placement and its model")
	}
	spec := &request.Placement.Spec
	t := &Problem{
		request: request, Cluster: cluster, Classes: classesOf(cluster), Model: request.Model, Spec: spec, Workload: spec.Workload, Copies: 1,
		Prices: request.Prices, ground: &ground{map[string]Matches{}, map[int32]*price.Price{}},
	}
	if spec.Model.Revision != "" { // it is of the checkpoint that is named
		t.Model = t.Model.Pinned()
	}
	calibration, err := cost.Load()
	if err != nil {
		return nil, err
	}
	t.calibration = calibration
	if request.Site != nil {
		t.calibration = calibration.At(request.Site)
	}
	if t.Prices == nil {
		table, err := price.Load()
		if err != nil {
			return nil, err
		}
		t.Prices = table.PerDeviceHour
	}
	if t.Engine, err = engine.Find(spec.Engine); err != nil {
		return nil, invalid("engine", string(spec.Engine), "use "+engine.Choice())
	}
	t.subject = cacheOf(cluster).subject(t.Model)
	if spec.Replicas != nil {
		t.Copies = int(*spec.Replicas)
	}
	if t.Copies < 1 || t.Copies > MaxCopies {
		return nil, invalid("replicas", fmt.Sprint(t.Copies), fmt.Sprintf("there is nothing to plan below 1, and %d is the most", MaxCopies))
	}
	if spec.Topology != nil && spec.Topology.Preferred != nil {
		if spec.Topology.Required != nil {
			return nil, invalid("topology", "both required and preferred", "set exactly one of them")
		}
		t.Prefer = *spec.Topology.Preferred
	}
	if t.Require, err = requirementsOf(spec); err != nil {
		return nil, err
	}
	t.Use = engine.UseOf(&spec.Workload)
	t.Require.runs, t.Require.makes = make([]engine.Formats, len(t.Classes)), make([]engine.Formats, len(t.Classes))
	for i, c := range t.Classes {
		t.Require.runs[i], t.Require.makes[i] = c.formats(t.Engine, t.Use), c.makes(t.Engine)
		if t.Engine.Without(&c.device, t.Use, &t.Model.Architecture) != nil {
			t.Require.runs[i] = 0
		}
	}
	t.Require.room = request.Room
	t.Require.tolerations = append(t.Require.tolerations, request.Tolerations...)
	if err := t.readParallelism(spec.Parallelism); err != nil {
		return nil, err
	}
	if err := t.checkWorkload(); err != nil {
		return nil, err
	}
	if err := t.readServing(); err != nil {
		return nil, err
	}
	if err := t.checkAsked(); err != nil {
		return nil, err
	}
	t.share()
	lacking := slices.ContainsFunc(t.Classes, func(c *Class) bool { return c.Known() && !c.Computes(v1alpha1.BF16) })
	if t.Ladder, err = ladderFor(spec, t.Model, t.Engine, lacking); err != nil {
		return nil, err
	}
	t.readPrevious(request.Previous)
	return t, nil
}

func (t *Problem) readParallelism(p *v1alpha1.Parallelism) error {
	if p == nil {
		return nil
	}
	read := func(name string, value *int32, most int) (int, error) {
		if value == nil {
			return 0, nil
		}
		if *value < 1 || int(*value) > most {
			return 0, invalid("parallelism."+name, fmt.Sprint(*value), fmt.Sprintf("it must be from 1 to %d", most))
		}
		return int(*value), nil
	}
	var err error
	if t.Asked.Tensor, err = read("tensor", p.Tensor, 1024); err != nil {
		return err
	}
	t.pad()
	a := &t.Model.Architecture
	if t.Asked.Stages, err = read("pipeline", p.Pipeline, int(a.Layers)); err != nil {
		return invalid("parallelism.pipeline", fmt.Sprint(*p.Pipeline), fmt.Sprintf("the model has %d layers and every stage needs at least one", a.Layers))
	}
	if t.Asked.Expert, err = read("expert", p.Expert, 16384); err != nil {
		return err
	}
	data, err := read("data", p.Data, 16384)
	if err != nil {
		return err
	}
	t.Asked.Data = data
	if t.Asked.Context, err = read("context", p.Context, 1024); err != nil {
		return err
	}
	if n := t.Asked.Tensor; n > 1 && !slices.Contains(engine.TensorDegrees(a, n), n) {
		return invalid("parallelism.tensor", fmt.Sprint(n), fmt.Sprintf("%s has %d query heads, %d key and value heads and blocks %d wide, which it must divide: use one of %v",
			t.Model.Name, a.Attention.Heads, a.Attention.KVHeads, a.MLP.IntermediateSize, engine.TensorDegrees(a, 64)))
	}
	if err := t.checkExperts(); err != nil {
		return err
	}
	// Data parallelism of a dense model is the same as separate copies.
	if data > 1 && t.Engine.Parallelism.Instances && a.MoE == nil && t.Workload.Training == nil {
		t.Copies, t.Asked.Data = t.Copies*data, 1
	}
	if n := t.Instances(); n > 1<<16 {
		return invalid("parallelism.data", fmt.Sprint(data), fmt.Sprintf("%d instances in all are more than %d", n, 1<<16))
	}
	return nil
}

// pad takes the model as the engine makes it for the tensor degree that is asked for, where it does so on all devices that it serves the model on.
// Another degree is chosen from those that divide the model.
func (t *Problem) pad() {
	cores := 0
	for i, c := range t.Classes {
		if t.Require.runs[i] == 0 {
			continue
		}
		own := c.cores(t.Engine)
		if own == 0 || cores > 0 && own != cores {
			return
		}
		cores = own
	}
	if t.Asked.Tensor == 0 || cores == 0 || t.Use != engine.Serving {
		return
	}
	own := *t.Model
	own.Architecture = *engine.Padded(&own.Architecture, t.Asked.Tensor*cores)
	t.Model, t.subject = &own, cacheOf(t.Cluster).subject(&own)
}

func (t *Problem) checkExperts() error {
	e := t.Asked.Expert
	if e <= 1 {
		return nil
	}
	moe := t.Model.Architecture.MoE
	if moe == nil {
		return invalid("parallelism.expert", fmt.Sprint(e), t.Model.Name+" has no experts: leave it out")
	}
	if int(moe.Experts)%e != 0 {
		return invalid("parallelism.expert", fmt.Sprint(e), fmt.Sprintf("it must divide the %d experts of %s", moe.Experts, t.Model.Name))
	}
	if t.Asked.Tensor > 0 && (t.Asked.Data > 0 || t.Workload.Training == nil) && !t.Engine.Ranks.Experts.Fit(e, t.Asked.Tensor, max(1, t.Asked.Data), max(1, t.Asked.Context)) {
		return invalid("parallelism.expert", fmt.Sprint(e), fmt.Sprintf("%s cannot share experts so at tensor %d, data %d and context %d: vLLM needs their product, SGLang and TensorRT-LLM a divisor of tensor x data, Megatron one of data x context, DeepSpeed one of data, others one of the product",
			t.Engine.Name, t.Asked.Tensor, max(1, t.Asked.Data), max(1, t.Asked.Context)))
	}
	return nil
}

// refusesCache says why the engine cannot keep its cache in the format that is asked for.
func (t *Problem) refusesCache() error {
	p, weights := t.Spec.KVCacheType, t.Model.Native
	if p == "" || p == v1alpha1.KVCacheAuto {
		return nil
	}
	if q := t.Spec.Quantization; q != "" && q != v1alpha1.QuantizationAuto {
		weights = v1alpha1.Precision(q)
	}
	return t.Engine.RefusesCache(v1alpha1.Precision(p), t.Model.CacheFormat(weights, ""))
}

func (t *Problem) checkWorkload() error {
	in, training := t.Workload.Inference, t.Workload.Training
	switch {
	case (in == nil) == (training == nil):
		return invalid("workload", "not one thing", "set exactly one of inference and training")
	case in != nil && t.refusesCache() != nil:
		return invalid("kvCacheType", string(t.Spec.KVCacheType), t.refusesCache().Error())
	case in != nil && in.MaxModelLen < 1:
		return invalid("workload.inference.maxModelLen", fmt.Sprint(in.MaxModelLen), "it must be at least 1")
	case in != nil && in.MaxSequences < 0:
		return invalid("workload.inference.maxSequences", fmt.Sprint(in.MaxSequences), "it must be at least 1")
	case in != nil && in.TotalSequences < 0:
		return invalid("workload.inference.totalSequences", fmt.Sprint(in.TotalSequences), "it must be at least 1")
	case in != nil && in.TotalSequences > 0 && in.MaxSequences > 0:
		return invalid("workload.inference.totalSequences", "set beside maxSequences", "leave one of them out")
	case in != nil && in.LengthVariationPercent != nil && (*in.LengthVariationPercent < 0 || *in.LengthVariationPercent > maxVariation):
		return invalid("workload.inference.lengthVariationPercent", fmt.Sprint(*in.LengthVariationPercent), fmt.Sprintf("it must be from 0 to %d", maxVariation))
	case in != nil && in.Capacity != "" && in.Capacity != v1alpha1.CapacityTypical && in.Capacity != v1alpha1.CapacityFullLength:
		return invalid("workload.inference.capacity", string(in.Capacity), "use Typical or FullLength")
	case in != nil:
		return nil
	case training.SequenceLength < 1 || training.GlobalBatch < 1 || training.MicroBatch < 0:
		return invalid("workload.training", "without a batch", "sequenceLength, globalBatch and microBatch must be at least 1")
	}
	if r := t.Engine.RefusesJob(t.runs(Shape{})); r != nil {
		return invalid("workload.training."+r.Degree, jobValue(training, r), r.Reason())
	}
	step := max(1, int(training.MicroBatch)) * max(1, t.Asked.Data)
	if int(training.GlobalBatch)%step != 0 {
		return invalid("workload.training.globalBatch", fmt.Sprint(training.GlobalBatch),
			fmt.Sprintf("it must be a multiple of microBatch times parallelism.data, %d", step))
	}
	return nil
}

// jobValue is the value of the field of a job that an engine refuses.
func jobValue(w *v1alpha1.TrainingWorkload, r *engine.Refusal) string {
	switch r.Degree {
	case engine.FieldSequenceParallel:
		return fmt.Sprint(w.SequenceParallel)
	case engine.FieldCompute:
		return string(w.Compute)
	default:
		return fmt.Sprint(r.Value)
	}
}
