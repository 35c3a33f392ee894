package engine

const (
	megatronArgs = "https://github.com/NVIDIA/Megatron-LM/blob/307dcf37f03d44da131ba21999278abe4112d2ad/megatron/training/arguments.py"
	// megatronConfig describes recompute_modules, which is an option of the command under the same name.
	megatronConfig = "https://github.com/NVIDIA/Megatron-LM/blob/002526d81b81f6ab534e93844f9a228709887494/megatron/core/transformer/transformer_config.py"
	// megatronLayout describes pipeline_model_parallel_layout.
	megatronLayout  = "https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/transformer/moe/README.md"
	jaxCluster      = "https://docs.jax.dev/en/latest/multi_process.html"
	jaxTrainer      = "https://www.kubeflow.org/docs/components/trainer/user-guides/jax/"
	deepSpeedConfig = "https://www.deepspeed.ai/docs/config-json/"
	deepSpeedArgs   = "https://github.com/deepspeedai/DeepSpeed/blob/2d991ba352b73e1bdc3d754a245bb85d61f0eb6e/deepspeed/launcher/runner.py"
)

// megatronArguments are options of a program of Megatron-LM, by the versions of its core.
var megatronArguments = Arguments{
	{For: ForTensor, Name: "--tensor-model-parallel-size", Least: 1, Since: "0.13.0", Source: megatronArgs},
	{For: ForPipeline, Name: "--pipeline-model-parallel-size", Least: 1, Since: "0.13.0", Source: megatronArgs},
	{For: ForContext, Name: "--context-parallel-size", Least: 1, Since: "0.13.0", Source: megatronArgs},
	{For: ForExpert, Name: "--expert-model-parallel-size", Least: 1, Since: "0.13.0", Source: megatronArgs},
	{For: ForExpertTensor, Name: "--expert-tensor-parallel-size", Least: 1, Since: "0.13.0", Source: megatronArgs},
	{For: ForFirst, Name: "--decoder-first-pipeline-num-layers", Least: 1, Since: "0.13.0", Source: megatronArgs},
	{For: ForLast, Name: "--decoder-last-pipeline-num-layers", Least: 1, Since: "0.13.0", Source: megatronArgs},
	{For: ForLength, Name: "--seq-length", Least: 1, Since: "0.13.0", Source: megatronArgs},
	{For: ForMicroBatch, Name: "--micro-batch-size", Least: 1, Since: "0.13.0", Source: megatronArgs},
	{For: ForGlobalBatch, Name: "--global-batch-size", Least: 1, Since: "0.13.0", Source: megatronArgs},
	{For: ForVirtual, Name: "--num-layers-per-virtual-pipeline-stage", Least: 1, Since: "0.13.0", Source: megatronArgs},
	{For: ForRuns, Name: "--pipeline-model-parallel-layout", Takes: Runs, Since: "0.13.0", Source: megatronLayout},
	{For: ForSequenceParallel, Name: "--sequence-parallel", Takes: Switch, Since: "0.13.0", Source: megatronArgs},
	{For: ForFP8, Name: "--fp8-format", Takes: Word, Values: []string{"e4m3", "hybrid"}, Since: "0.13.0", Source: megatronArgs},
	{For: ForOverlap, Name: "--overlap-grad-reduce", Takes: Switch, Since: "0.13.0", Source: megatronArgs},
	{For: ForOverlapGather, Name: "--overlap-param-gather", Takes: Switch, Since: "0.13.0", Source: megatronArgs},
	{For: ForSharding, Name: "--use-distributed-optimizer", Takes: Switch, Since: "0.13.0", Source: megatronArgs},
	{For: ForBF16, Name: "--bf16", Takes: Switch, Since: "0.13.0", Source: megatronArgs},
	{For: ForFP16, Name: "--fp16", Takes: Switch, Since: "0.13.0", Source: megatronArgs},
	{For: ForLibrary, Name: "--distributed-backend", Takes: Word, Values: []string{"nccl", "gloo"}, Since: "0.13.0", Source: megatronArgs},
	{
		For: ForRecompute, Name: "--recompute-granularity", Takes: Word, Values: []string{"full", "selective"}, Since: "0.13.0",
		Source: megatronArgs,
	},
	{
		For: ForRecomputeParts, Name: "--recompute-modules", Takes: Word, Values: []string{"core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe"}, Since: "0.13.0",
		Source: megatronConfig,
	},
	{
		For: ForRecomputeBy, Name: "--recompute-method", Takes: Word, Values: []string{"uniform", "block"}, Since: "0.13.0",
		Source: megatronArgs,
	},
	{For: ForRecomputeLayers, Name: "--recompute-num-layers", Least: 1, Since: "0.13.0", Source: megatronArgs},
}

// jaxArguments are variables: JAX itself reads the first and the last, a program passes the others to jax.distributed.initialize.
var jaxArguments = Arguments{
	{For: ForHead, Name: "JAX_COORDINATOR_ADDRESS", Takes: Text, Since: "0.4.30", Source: jaxCluster},
	{For: ForProcesses, Name: "JAX_NUM_PROCESSES", Least: 1, Since: "0.4.30", Source: jaxTrainer},
	{For: ForProcess, Name: "JAX_PROCESS_ID", Since: "0.4.30", Source: jaxTrainer},
	{For: ForDevices, Name: "JAX_LOCAL_DEVICE_IDS", Takes: List, Since: "0.4.30", Source: jaxCluster},
}

// deepSpeedArguments are options of the command `deepspeed`, and keys of the configuration that a program gives deepspeed.initialize. Pods can
// start it themselves since --no_ssh (pull request 5728).
var deepSpeedArguments = Arguments{
	{For: ForHostFile, Name: "--hostfile", Takes: Text, Since: "0.15.0", Source: deepSpeedArgs},
	{For: ForHead, Name: "--master_addr", Takes: Text, Since: "0.15.0", Source: deepSpeedArgs},
	{For: ForPort, Name: "--master_port", Least: 1, Most: 65535, Since: "0.15.0", Source: deepSpeedArgs},
	{For: ForNoShell, Name: "--no_ssh", Takes: Switch, Since: "0.15.0", Source: deepSpeedArgs},
	{For: ForNode, Name: "--node_rank", Since: "0.15.0", Source: deepSpeedArgs},
	{For: ForMicroBatch, Name: "train_micro_batch_size_per_gpu", Least: 1, Since: "0.15.0", Source: deepSpeedConfig},
	{For: ForGlobalBatch, Name: "train_batch_size", Least: 1, Since: "0.15.0", Source: deepSpeedConfig},
	{For: ForSharding, Name: "zero_optimization.stage", Most: 3, Since: "0.15.0", Source: deepSpeedConfig},
	{For: ForBF16, Name: "bf16.enabled", Takes: Truth, Since: "0.15.0", Source: deepSpeedConfig},
	{For: ForFP16, Name: "fp16.enabled", Takes: Truth, Since: "0.15.0", Source: deepSpeedConfig},
}
