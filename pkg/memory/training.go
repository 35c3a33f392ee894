package memory

import (
	"fmt"
	"math"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Bytes for each trained parameter. AdamW in mixed precision keeps a 32-bit copy and two 32-bit moments (ZeRO, table 1:
// 2 + 2 + 12); in 8 bits two 1-byte moments; SGD only the copy, with momentum one moment more. Adafactor's factored
// moments are below a hundredth of the weights and are left out.
var optimizerBytes = map[v1alpha1.Optimizer]int64{
	"": 12, "AdamW": 12, "AdamW8bit": 6, "Adafactor": 4, "SGD": 4, "SGDMomentum": 8,
}

// method is how many models of the same size a training method holds, and how many of them it trains; adapter says that
// only an addition to the weights is trained.
type method struct {
	models, trained int64
	adapter         func(w weights, layer int) int64
}

// DPO holds a frozen reference. RLHF by PPO holds policy and critic, trained, and reference and reward model, frozen, all
// of the policy's size; generation is not counted. Distillation is counted with a teacher as large as the student.
var methods = map[v1alpha1.TrainingMethod]method{
	"":             {models: 1, trained: 1},
	"Full":         {models: 1, trained: 1},
	"LoRA":         {models: 1, adapter: loraParameters},
	"QLoRA":        {models: 1, adapter: loraParameters},
	"Prefix":       {models: 1, adapter: prefixParameters},
	"DPO":          {models: 2, trained: 1},
	"RLHF":         {models: 4, trained: 2},
	"Distillation": {models: 2, trained: 1},
}

// BaseFormats returns the formats in which a training method keeps the weights, the one to choose first; none where the method says nothing of
// them. QLoRA keeps a frozen base in 4 bits. Source: Dettmers et al., arXiv:2305.14314.
func BaseFormats(method v1alpha1.TrainingMethod) []v1alpha1.Precision {
	if method == "QLoRA" {
		return []v1alpha1.Precision{v1alpha1.INT4, v1alpha1.NVFP4, v1alpha1.MXFP4}
	}
	return nil
}

// sharding is the states that data ranks share out.
type sharding struct{ optimizer, gradients, weights bool }

var shardings = map[v1alpha1.TrainingSharding]sharding{
	"": {}, "None": {},
	"ZeRO1": {optimizer: true},
	"ZeRO2": {optimizer: true, gradients: true},
	"ZeRO3": {optimizer: true, gradients: true, weights: true},
	"FSDP":  {optimizer: true, gradients: true, weights: true},
}

// states are the bytes of a trained parameter, and the numbers of ranks that share them.
type states struct {
	gradient, optimizer           int64
	gradientRanks, optimizerRanks int64
	// expert is the degree that experts are shared out by; their states are shared by so many times fewer ranks.
	expert int64
}

// trainable counts the parameters that a device trains: routed experts, and the rest.
type trainable struct{ rest, experts int64 }

// share returns what a rank holds of trainable parameters of some bytes that some ranks share.
func (s states) share(t trainable, bytes, ranks int64) int64 {
	return bounded(ceil(times(t.rest, bytes), ranks) + ceil(times(t.experts, bytes), beside(ranks, s.expert)))
}

// beside returns how many of some ranks hold the same experts under an expert degree.
func beside(ranks, expert int64) int64 { return max(1, ranks/expert) }

// training is the memory that training adds.
type training struct {
	setup       *Setup
	method      method
	states      states
	weightRanks int64
	// recomputed is the most that is alive of a layer while it is computed again, loss what the loss holds on the last stage.
	recomputed, loss int64
	// gathered is two whole layers, the one in use and the next, where ranks hold only their share of the weights.
	gathered int64
	// sharesTokens is set where tensor ranks share out the tokens between their matrices.
	sharesTokens bool
	// keepsEights is set where the inputs of matrices are kept in 8 bits.
	keepsEights bool
}

func checkTraining(t *v1alpha1.TrainingWorkload) error {
	if _, ok := methods[t.Method]; !ok {
		return fmt.Errorf("training.method %q is not known: use Full, LoRA, QLoRA, Prefix, DPO, RLHF or Distillation", t.Method)
	}
	if _, ok := optimizerBytes[t.Optimizer]; !ok {
		return fmt.Errorf("training.optimizer %q is not known: use AdamW, AdamW8bit, Adafactor, SGD or SGDMomentum", t.Optimizer)
	}
	if _, ok := shardings[t.Sharding]; !ok {
		return fmt.Errorf("training.sharding %q is not known: use None, ZeRO1, ZeRO2, ZeRO3 or FSDP", t.Sharding)
	}
	if err := inBounds([]bound{
		{"training.sequenceLength", int64(t.SequenceLength), 1, maxTokens},
		{"training.globalBatch", int64(t.GlobalBatch), 1, math.MaxInt32},
		{"training.virtualStages", int64(t.VirtualStages), 0, maxVirtual},
	}); err != nil {
		return err
	}
	if !slices.Contains([]v1alpha1.Recompute{"", v1alpha1.RecomputeNone, v1alpha1.RecomputeSelective, v1alpha1.RecomputeFull}, t.Recompute) {
		return fmt.Errorf("training.recompute %q is not known: use None, Selective or Full", t.Recompute)
	}
	if t.ActivationCheckpointing && t.Recomputes() != v1alpha1.RecomputeFull {
		return fmt.Errorf("training.recompute %s contradicts activationCheckpointing true, which is Full: leave one of them out", t.Recompute)
	}
	if t.Compute != "" && t.Compute != v1alpha1.FP8 {
		return fmt.Errorf("training.compute %q is not known: use FP8, or leave it out for 16 bits", t.Compute)
	}
	if t.MicroBatch < 0 || t.MicroBatch > t.GlobalBatch {
		return fmt.Errorf("training.microBatch %d is out of range: use 1 to globalBatch %d", t.MicroBatch, t.GlobalBatch)
	}
	return nil
}

// train computes what training adds. Every stage is counted as the first stage of a pipeline, which keeps the activations
// of the most micro-batches; later stages keep fewer.
func (f *Footprint) train() {
	s := &f.setup
	load, layout := s.Training, s.Layout
	share := shardings[load.Sharding]
	shards := layout.Data
	if f.counter.engine.ContextShards {
		shards *= layout.Context
	}
	t := &training{
		setup: s, method: methods[load.Method], weightRanks: ranks(share.weights, shards), sharesTokens: f.counter.jobs.ShareTokens(load, &s.Model.Architecture),
		keepsEights: load.Compute == v1alpha1.FP8 && f.counter.jobs.KeepsFP8,
	}
	t.states = states{
		gradient: max(plainBytes(s.Weights), f.counter.engine.GradientBytes), optimizer: optimizerBytes[load.Optimizer], expert: int64(layout.Expert),
		gradientRanks: ranks(share.gradients, shards), optimizerRanks: ranks(share.optimizer, shards),
	}
	if s.Weights == v1alpha1.FP32 {
		// The weights themselves serve as the 32-bit copy.
		t.states.optimizer = max(0, t.states.optimizer-4)
	}
	if t.weightRanks > 1 {
		w := f.counter.weights(s)
		for _, of := range f.counter.forms {
			t.gathered = max(t.gathered, times(2, w.layer(of.layer)+w.shareOf(of.experts)))
		}
	}
	t.loss = part(times(t.passTokens(), int64(s.Model.Architecture.VocabSize)), lossBytes, int64(layout.Tensor))
	if load.Recomputes() != v1alpha1.RecomputeNone {
		for _, of := range f.counter.forms {
			t.recomputed = max(t.recomputed, t.alive(of.layer)-t.kept(of.layer))
		}
	}
	f.training = t
}

func ranks(shared bool, data int) int64 {
	if shared {
		return int64(data)
	}
	return 1
}

// held returns what a device keeps of weights of some bytes that some ranks share, for all models of the method.
func (t *training) held(bytes, ranks int64) int64 { return ceil(times(bytes, t.method.models), ranks) }

// expertRanks returns how many ranks share the weights of the same routed experts.
func (t *training) expertRanks() int64 { return beside(t.weightRanks, t.states.expert) }

// trained counts the parameters of a layer that are trained on a device: routed experts, and the rest.
func (t *training) trained(w *weights, layer int) trainable {
	if t.method.adapter != nil {
		return trainable{rest: t.method.adapter(*w, layer)}
	}
	whole := *w
	whole.precision = v1alpha1.BF16 // 16 bits, from which parameters are counted
	return trainable{times(t.method.trained, whole.layer(layer)/2), times(t.method.trained, whole.experts(layer)/2)}
}

// use adds the components of training to a run of layers.
func (t *training) use(u *Use, f *Footprint, first, end int) {
	tables := times(f.quick.tables[f.at(first, end)], t.table(f))
	sum := trainable{f.trained.of(first, end) + tables, f.trainedExperts.of(first, end)}
	u.Weights += t.adapters(sum.rest)
	s := &t.states
	u.Gradients, u.Optimizer = s.share(sum, s.gradient, s.gradientRanks), s.share(sum, s.optimizer, s.optimizerRanks)
	u.Activations = bounded(f.kept.of(first, end) + t.recomputed + t.gathered)
	if end == f.layers {
		u.Activations = bounded(u.Activations + t.loss)
	}
}

// table counts the parameters of an embedding or head table that are trained on a device.
func (t *training) table(f *Footprint) int64 {
	if t.method.adapter != nil {
		return 0
	}
	return times(f.embedding/plainBytes(t.setup.Weights), t.method.trained)
}

// adapters returns the bytes of the weights that a method adds.
func (t *training) adapters(parameters int64) int64 {
	if t.method.adapter == nil {
		return 0
	}
	return ceil(times(parameters, plainBytes(t.setup.Weights)), t.weightRanks)
}
