package plan

import "github.com/rankwright/rankwright/api/v1alpha1"

// Bytes of training state for each trained parameter. Weights are in the plan's format; gradients are kept in 16 bits
// (32 where the weights are). AdamW in mixed precision keeps a 32-bit copy and two 32-bit moments (ZeRO paper, table of
// memory: 2 + 2 + 12); in 8 bits two 1-byte moments; Adafactor's factored moments are below a hundredth of the weights.
var optimizerBytes = map[v1alpha1.Optimizer]int64{
	"":                                12,
	v1alpha1.Optimizer("AdamW"):       12,
	v1alpha1.Optimizer("AdamW8bit"):   6,
	v1alpha1.Optimizer("Adafactor"):   4,
	v1alpha1.Optimizer("SGD"):         4,
	v1alpha1.Optimizer("SGDMomentum"): 8,
}

const gradientBytes = 2

// trainingMethod is how many copies of the weights a method keeps, and of how many parameters in a thousand of one copy
// it trains.
type trainingMethod struct{ copies, trained int64 }

// LoRA of rank 16 on all linear layers trains under 1 % of a model of 7B and more. DPO keeps a frozen reference. RLHF by
// PPO keeps policy and critic, both trained, with a reference and a reward model, both frozen, all of the policy's size.
// Distillation is counted with a teacher as large as the student, which is the least that makes sense.
var trainingMethods = map[v1alpha1.TrainingMethod]trainingMethod{
	"":                                      {1, 1000},
	v1alpha1.TrainingMethod("Full"):         {1, 1000},
	v1alpha1.TrainingMethod("LoRA"):         {1, 10},
	v1alpha1.TrainingMethod("QLoRA"):        {1, 10},
	v1alpha1.TrainingMethod("Prefix"):       {1, 1},
	v1alpha1.TrainingMethod("DPO"):          {2, 1000},
	v1alpha1.TrainingMethod("RLHF"):         {4, 2000},
	v1alpha1.TrainingMethod("Distillation"): {2, 1000},
}

// Activations of a layer for each token and unit of width, with attention that is not materialised: 34 bytes in 16 bits
// (Korthikanti et al., "Reducing Activation Recomputation"), of which checkpoints keep the layer's input, 2 bytes.
const (
	layerActivationBytes = 34
	checkpointBytes      = 2
	// lossBytes is what the loss keeps for each token and word: 32-bit logits and their gradient.
	lossBytes = 8
)

// shardingOf says what data-parallel ranks share out.
type shardingOf struct{ optimizer, gradients, weights bool }

var shardings = map[v1alpha1.TrainingSharding]shardingOf{
	v1alpha1.TrainingSharding("ZeRO1"): {optimizer: true},
	v1alpha1.TrainingSharding("ZeRO2"): {optimizer: true, gradients: true},
	v1alpha1.TrainingSharding("ZeRO3"): {optimizer: true, gradients: true, weights: true},
	v1alpha1.TrainingSharding("FSDP"):  {optimizer: true, gradients: true, weights: true},
}

// trainingMemory is what training adds to the weights.
type trainingMemory struct {
	method               trainingMethod
	gradients, optimizer int64 // bytes for each trained parameter
	data                 int64
	sharding             shardingOf
	layer                int64 // activations kept for a layer
	fixed                int64 // activations of the layer that is being recomputed
	logits               int64
}

// trainingOf computes it. Every stage is counted as the first one of a pipeline, which keeps the activations of as many
// micro-batches as there are stages (one forward, one backward), so later stages have some to spare.
func trainingOf(l *load, tensor, stages int) *trainingMemory {
	t := l.workload.Training
	m := &trainingMemory{
		method: trainingMethods[t.Method], gradients: gradientBytes, optimizer: optimizerBytes[t.Optimizer],
		data: int64(l.data), sharding: shardings[t.Sharding],
	}
	if l.format == v1alpha1.FP32 {
		m.gradients = 4
		// The weights themselves are the 32-bit copy.
		m.optimizer = max(0, m.optimizer-4)
	}
	micro := max(1, int64(t.MicroBatch))
	tokens := times(micro, int64(t.SequenceLength))
	width := times(tokens, int64(l.model.Architecture.HiddenSize))
	inFlight := max(1, min(int64(stages), int64(t.GlobalBatch)/(micro*m.data)))
	m.layer = times(width, layerActivationBytes) / int64(tensor)
	if t.ActivationCheckpointing {
		m.fixed = m.layer
		m.layer = times(width, checkpointBytes)
	}
	m.layer = times(m.layer, inFlight)
	m.logits = times(times(tokens, int64(l.model.Architecture.VocabSize)), lossBytes) / int64(tensor)
	return m
}

// held is what a device keeps of some bytes of weights.
func (m *trainingMemory) held(weights int64) int64 {
	return share(times(weights, m.method.copies), m.sharding.weights, m.data)
}

// states is what a device keeps of gradients and optimizer for some parameters.
func (m *trainingMemory) states(parameters int64) int64 {
	trained := times(parameters, m.method.trained) / 1000
	return bounded(share(times(trained, m.gradients), m.sharding.gradients, m.data) + share(times(trained, m.optimizer), m.sharding.optimizer, m.data))
}

func share(bytes int64, shared bool, data int64) int64 {
	if !shared {
		return bytes
	}
	return (bytes + data - 1) / data
}
