package plan

import (
	"fmt"
	"slices"
	"strings"

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
	// Prices are what devices cost by product; nil takes the built-in table.
	Prices func(product string) (price.Price, bool)
}

// degrees are the degrees of parallelism that are asked for; 0 where a degree is free.
type degrees struct{ tensor, stages, data, expert, context int }

// task is a valid request with its defaults filled in. It is copied to try what would happen if one thing were different.
type task struct {
	request  Request
	cluster  *fleet.Cluster
	classes  []*class // by their numbers in the cluster
	model    *model.Model
	subject  *subject // what is known of the model
	spec     *v1alpha1.ModelPlacementSpec
	workload v1alpha1.Workload
	engine   *engine.Engine
	require  requirements
	prefer   string // preferred topology level
	ladder   []step
	asked    degrees
	copies   int // independent copies
	cuts     map[cutKey]bool
	keep     map[int32]bool
	pooled   map[string]pooled
	laned    map[*pool][]*lane    // lanes of pools, for tries on the same devices
	zoned    map[*pool][]zoneForm // forms of their zones
	prices   func(product string) (price.Price, bool)
	hourly   map[int32]*price.Price // by class, as far as asked for; zero where there is no price

	calibration *cost.Calibration
}

// instances returns the number of times that the model is placed: data ranks that are asked for count one by one.
func (t *task) instances() int { return t.copies * max(1, t.asked.data) }

func newTask(cluster *fleet.Cluster, request Request) (*task, error) {
	if request.Placement == nil || request.Model == nil {
		return nil, invalid("model", "not resolved", "give the placement and its model")
	}
	spec := &request.Placement.Spec
	t := &task{
		request: request, cluster: cluster, classes: classesOf(cluster), model: request.Model, spec: spec, workload: spec.Workload, copies: 1,
		pooled: map[string]pooled{}, laned: map[*pool][]*lane{}, zoned: map[*pool][]zoneForm{},
		prices: request.Prices, hourly: map[int32]*price.Price{},
	}
	calibration, err := cost.Load()
	if err != nil {
		return nil, err
	}
	t.calibration = calibration
	if t.prices == nil {
		table, err := price.Load()
		if err != nil {
			return nil, err
		}
		t.prices = table.PerDeviceHour
	}
	if t.engine, err = engine.Find(spec.Engine); err != nil {
		return nil, invalid("engine", string(spec.Engine), "use "+strings.Join(engine.Names(), ", "))
	}
	t.subject = memoOf(cluster).subject(t.model)
	if spec.Replicas != nil {
		t.copies = int(*spec.Replicas)
	}
	if t.copies < 1 || t.copies > 1024 {
		return nil, invalid("replicas", fmt.Sprint(t.copies), "there is nothing to plan below 1, and 1024 is the most")
	}
	if spec.Topology != nil && spec.Topology.Preferred != nil {
		if spec.Topology.Required != nil {
			return nil, invalid("topology", "both required and preferred", "set exactly one of them")
		}
		t.prefer = *spec.Topology.Preferred
	}
	if t.require, err = requirementsOf(spec, t.engine, &t.model.Architecture); err != nil {
		return nil, err
	}
	if err := t.readParallelism(spec.Parallelism); err != nil {
		return nil, err
	}
	if err := t.checkWorkload(); err != nil {
		return nil, err
	}
	if err := t.checkAsked(); err != nil {
		return nil, err
	}
	if t.ladder, err = ladderFor(spec, t.model.Native); err != nil {
		return nil, err
	}
	t.readPrevious(request.Previous)
	return t, nil
}

func (t *task) readParallelism(p *v1alpha1.Parallelism) error {
	if p == nil {
		return nil
	}
	a := &t.model.Architecture
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
	if t.asked.tensor, err = read("tensor", p.Tensor, 1024); err != nil {
		return err
	}
	if t.asked.stages, err = read("pipeline", p.Pipeline, int(a.Layers)); err != nil {
		return invalid("parallelism.pipeline", fmt.Sprint(*p.Pipeline), fmt.Sprintf("the model has %d layers and every stage needs at least one", a.Layers))
	}
	if t.asked.expert, err = read("expert", p.Expert, 16384); err != nil {
		return err
	}
	data, err := read("data", p.Data, 16384)
	if err != nil {
		return err
	}
	t.asked.data = data
	if t.asked.context, err = read("context", p.Context, 1024); err != nil {
		return err
	}
	if n := t.asked.tensor; n > 1 && !slices.Contains(engine.TensorDegrees(a, n), n) {
		return invalid("parallelism.tensor", fmt.Sprint(n), fmt.Sprintf("%s has %d query heads, %d key and value heads and blocks %d wide, which it must divide: use one of %v",
			t.model.Name, a.Attention.Heads, a.Attention.KVHeads, a.MLP.IntermediateSize, engine.TensorDegrees(a, 64)))
	}
	if err := t.checkExperts(); err != nil {
		return err
	}
	// Data parallelism of a dense model is the same as separate copies.
	if data > 1 && t.engine.Parallelism.Instances && a.MoE == nil && t.workload.Training == nil {
		t.copies, t.asked.data = t.copies*data, 1
	}
	if n := t.instances(); n > 1<<16 {
		return invalid("parallelism.data", fmt.Sprint(data), fmt.Sprintf("%d instances in all are more than %d", n, 1<<16))
	}
	return nil
}

func (t *task) checkExperts() error {
	e := t.asked.expert
	if e <= 1 {
		return nil
	}
	moe := t.model.Architecture.MoE
	if moe == nil {
		return invalid("parallelism.expert", fmt.Sprint(e), t.model.Name+" has no experts: leave it out")
	}
	if int(moe.Experts)%e != 0 {
		return invalid("parallelism.expert", fmt.Sprint(e), fmt.Sprintf("it must divide the %d experts of %s", moe.Experts, t.model.Name))
	}
	if t.asked.tensor > 0 && (t.asked.data > 0 || t.workload.Training == nil) && !t.engine.Ranks.Experts.Fit(e, t.asked.tensor, max(1, t.asked.data), max(1, t.asked.context)) {
		return invalid("parallelism.expert", fmt.Sprint(e), fmt.Sprintf("%s cannot share experts so at tensor %d, data %d and context %d: vLLM needs their product, SGLang and TensorRT-LLM a divisor of tensor x data, Megatron one of data x context, DeepSpeed one of data, others one of the product",
			t.engine.Name, t.asked.tensor, max(1, t.asked.data), max(1, t.asked.context)))
	}
	return nil
}

func (t *task) checkWorkload() error {
	in, training := t.workload.Inference, t.workload.Training
	switch {
	case (in == nil) == (training == nil):
		return invalid("workload", "not one thing", "set exactly one of inference and training")
	case in != nil && in.MaxModelLen < 1:
		return invalid("workload.inference.maxModelLen", fmt.Sprint(in.MaxModelLen), "it must be at least 1")
	case in != nil && in.MaxSequences < 0:
		return invalid("workload.inference.maxSequences", fmt.Sprint(in.MaxSequences), "it must be at least 1")
	case in != nil:
		return nil
	case training.SequenceLength < 1 || training.GlobalBatch < 1 || training.MicroBatch < 0:
		return invalid("workload.training", "without a batch", "sequenceLength, globalBatch and microBatch must be at least 1")
	}
	step := max(1, int(training.MicroBatch)) * max(1, t.asked.data)
	if int(training.GlobalBatch)%step != 0 {
		return invalid("workload.training.globalBatch", fmt.Sprint(training.GlobalBatch),
			fmt.Sprintf("it must be a multiple of microBatch times parallelism.data, %d", step))
	}
	return nil
}

// edit is a change of a request.
type edit func(*v1alpha1.ModelPlacementSpec)

// with returns the task of the changed request on the same cluster; nil where the changed request is invalid.
func (t *task) with(change edit) *task {
	request := t.request
	placement := *request.Placement
	request.Placement = &placement
	placement.Spec = *placement.Spec.DeepCopy()
	change(&placement.Spec)
	other, err := newTask(t.cluster, request)
	if err != nil {
		return nil
	}
	if other.sameGround(t) {
		other.pooled, other.laned, other.zoned = t.pooled, t.laned, t.zoned
	}
	return other
}

// sameGround says whether two tasks on one cluster choose from the same devices, in groups for as many copies.
func (t *task) sameGround(other *task) bool {
	return t.require.level == other.require.level && t.prefer == other.prefer && t.asked == other.asked && t.copies <= other.copies &&
		slices.Equal(t.require.formats, other.require.formats)
}

// on returns the task on another cluster.
func (t *task) on(c *fleet.Cluster) *task {
	request := t.request
	other, err := newTask(c, request)
	if err != nil {
		return nil
	}
	return other
}

// one returns the task with a single copy. It has lanes of its own, since lanes remember groups for as many copies as
// they were first asked for.
func (t *task) one() *task {
	one := *t
	one.copies, one.laned = 1, map[*pool][]*lane{}
	return &one
}

// unlimited returns the task without limits of time.
func (t *task) unlimited() *task {
	other, in := *t, *t.workload.Inference
	in.MaxTTFTMillis, in.MaxTPOTMillis = nil, nil
	other.workload.Inference = &in
	return &other
}
