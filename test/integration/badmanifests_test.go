package integration

import "strings"

// badManifests has one row for each mistake that the API server must explain.
var badManifests = []badManifest{
	// What model.
	{
		"no model", "modelplacement", `spec: {model: null}`,
		[]string{"spec.model", "Required value"},
	},
	{
		"no source of the model", "modelplacement", `spec: {model: {name: null}}`,
		[]string{"spec.model", "exactly one of name, parameters, architecture and configMap must be set", "keep the one"},
	},
	{
		"two sources of the model", "modelplacement", `spec: {model: {parameters: 70000000000}}`,
		[]string{"spec.model", "exactly one of name, parameters, architecture and configMap", "remove the others"},
	},
	{
		"empty name of the model", "modelplacement", `spec: {model: {name: ""}}`,
		[]string{"spec.model.name", "at least 1 chars"},
	},
	{
		"parameters in billions", "modelplacement", `spec: {model: {name: null, parameters: 70}}`,
		[]string{"spec.model.parameters", "greater than or equal to 1000000"},
	},
	{
		"parameters as text", "modelplacement", `spec: {model: {name: null, parameters: 70B}}`,
		[]string{"spec.model.parameters", "must be of type integer"},
	},
	{
		"name of a ConfigMap that cannot exist", "modelplacement", `spec: {model: {name: null, configMap: {name: Own_Model}}}`,
		[]string{"spec.model.configMap.name", "must be the name of a ConfigMap", "lower-case"},
	},
	// Its architecture.
	{
		"more active experts than experts", "architecture", `spec: {model: {architecture: {moe: {activeExperts: 65}}}}`,
		[]string{"spec.model.architecture", "moe.activeExperts must not exceed moe.experts"},
	},
	{
		"heads that do not divide", "architecture", `spec: {model: {architecture: {attention: {kvHeads: 5}}}}`,
		[]string{"spec.model.architecture", "attention.heads must be a multiple of attention.kvHeads", "set kvHeads to heads"},
	},
	{
		"no feed-forward block", "architecture", `spec: {model: {architecture: {moe: null, mlp: {intermediateSize: 0}}}}`,
		[]string{"spec.model.architecture", "mlp.intermediateSize must be above 0", "describe moe"},
	},
	{
		"experts only after the last layer", "architecture", `spec: {model: {architecture: {moe: {firstLayer: 48}}}}`,
		[]string{"spec.model.architecture", "moe.firstLayer must be below layers", "remove moe"},
	},
	{
		"full attention without a window", "architecture", `spec: {model: {architecture: {attention: {slidingWindow: null}}}}`,
		[]string{"spec.model.architecture.attention", "fullAttentionEvery needs slidingWindow", "remove fullAttentionEvery"},
	},
	{
		"a letter of blocks that YAML reads as false", "architecture", `spec: {model: {architecture: {blocks: N}}}`,
		[]string{"spec.model.architecture.blocks", "must be of type string"},
	},
	{
		"a letter of mixers that stands for nothing", "architecture", `spec: {model: {architecture: {mixers: RZ}}}`,
		[]string{"spec.model.architecture.mixers", "should match"},
	},
	{
		"no layers", "architecture", `spec: {model: {architecture: {layers: 0}}}`,
		[]string{"spec.model.architecture.layers", "greater than or equal to 1"},
	},
	// What for.
	{
		"no workload", "modelplacement", `spec: {workload: null}`,
		[]string{"spec.workload", "Required value"},
	},
	{
		"an empty workload", "modelplacement", `spec: {workload: {inference: null}}`,
		[]string{"spec.workload", "exactly one of inference and training must be set"},
	},
	{
		"two workloads", "modelplacement", `spec: {workload: {training: {sequenceLength: 4096, globalBatch: 8}}}`,
		[]string{"spec.workload", "exactly one of inference and training must be set", "make two placements"},
	},
	{
		"requests longer than the context", "modelplacement", `spec: {workload: {inference: {inputTokens: 8000}}}`,
		[]string{"spec.workload.inference", "inputTokens + outputTokens must not exceed maxModelLen", "raise maxModelLen"},
	},
	{
		"an unknown capacity", "modelplacement", `spec: {workload: {inference: {capacity: Half}}}`,
		[]string{"spec.workload.inference.capacity", "Typical", "FullLength"},
	},
	{
		"a variation below none", "modelplacement", `spec: {workload: {inference: {lengthVariationPercent: -1}}}`,
		[]string{"spec.workload.inference.lengthVariationPercent", "greater than or equal to 0"},
	},
	{
		"no context", "modelplacement", `spec: {workload: {inference: {maxModelLen: null}}}`,
		[]string{"spec.workload.inference.maxModelLen", "Required value"},
	},
	{
		"unknown objective", "modelplacement", `spec: {workload: {inference: {objective: Speed}}}`,
		[]string{"spec.workload.inference.objective", `supported values: "Latency", "Throughput", "Cost"`},
	},
	{
		"no time for an answer", "modelplacement", `spec: {workload: {inference: {maxTTFTMillis: 0}}}`,
		[]string{"spec.workload.inference.maxTTFTMillis", "greater than or equal to 1"},
	},
	// What the server does beside.
	{
		"a version that is none", "modelplacement", `spec: {workload: {inference: {serving: {engineVersion: v0.19}}}}`,
		[]string{"spec.workload.inference.serving.engineVersion", "must be a version such as 0.19.0"},
	},
	{
		"more than all of the memory", "modelplacement", `spec: {workload: {inference: {serving: {memoryUtilizationPercent: 101}}}}`,
		[]string{"spec.workload.inference.serving.memoryUtilizationPercent", "less than or equal to 100"},
	},
	{
		"prompts that have nothing in common", "modelplacement", `spec: {workload: {inference: {serving: {prefixCache: {}}}}}`,
		[]string{"spec.workload.inference.serving.prefixCache", "at least one of hitPercent and sharedTokens must be set", "remove prefixCache"},
	},
	{
		"tokens that are found twice", "modelplacement", `spec: {workload: {inference: {serving: {prefixCache: {hitPercent: 60}, offload: {giB: 1, hitPercent: 40}}}}}`,
		[]string{"spec.workload.inference.serving", "prefixCache.hitPercent + offload.hitPercent must not exceed 99", "lower one of them"},
	},
	{
		"a shared prefix that is longer than prompts", "modelplacement", `spec: {workload: {inference: {inputTokens: 100, serving: {prefixCache: {sharedTokens: 101}}}}}`,
		[]string{"spec.workload.inference", "sharedTokens must not exceed inputTokens", "raise inputTokens"},
	},
	{
		"a draft without a model", "modelplacement", `spec: {workload: {inference: {serving: {speculation: {method: Draft, tokens: 2, acceptancePercent: 70}}}}}`,
		[]string{"spec.workload.inference.serving.speculation", "model must be set with the methods Draft and EAGLE", "name what drafts"},
	},
	{
		"a model beside a module of the checkpoint", "modelplacement", `spec: {workload: {inference: {serving: {speculation: {method: MTP, model: own/draft, tokens: 1, acceptancePercent: 70}}}}}`,
		[]string{"spec.workload.inference.serving.speculation", "model must be set with the methods Draft and EAGLE, and with no other"},
	},
	{
		"an unknown method", "modelplacement", `spec: {workload: {inference: {serving: {speculation: {method: Medusa, tokens: 1, acceptancePercent: 70}}}}}`,
		[]string{"spec.workload.inference.serving.speculation.method", `supported values: "Draft", "MTP", "EAGLE", "NGram"`},
	},
	{
		"a draft that the shell would cut", "modelplacement", `spec: {workload: {inference: {serving: {speculation: {method: Draft, model: "own draft", tokens: 1, acceptancePercent: 70}}}}}`,
		[]string{"spec.workload.inference.serving.speculation.model", "must be an id on the hub"},
	},
	{
		"more active adapters than there are", "modelplacement", `spec: {workload: {inference: {serving: {adapters: {count: 2, rank: 16, active: 3}}}}}`,
		[]string{"spec.workload.inference.serving.adapters", "active must not exceed count", "lower active"},
	},
	{
		"images without their tokens", "modelplacement", `spec: {workload: {inference: {serving: {media: {images: 1}}}}}`,
		[]string{"spec.workload.inference.serving.media", "images and imageTokens must be set together"},
	},
	{
		"whole prompts in a small step", "modelplacement", `spec: {workload: {inference: {serving: {chunkedPrefill: Disabled, maxBatchedTokens: 16}}}}`,
		[]string{"spec.workload.inference", "maxBatchedTokens must not be below maxModelLen where chunkedPrefill is Disabled", "remove chunkedPrefill"},
	},
	{
		"micro-batch above the batch", "architecture", `spec: {workload: {training: {microBatch: 1024}}}`,
		[]string{"spec.workload.training", "microBatch must not exceed globalBatch", "lower microBatch"},
	},
	{
		"recompute beside checkpointing", "architecture", `spec: {workload: {training: {activationCheckpointing: true, recompute: Selective}}}`,
		[]string{"spec.workload.training", "activationCheckpointing true is recompute Full", "leave one of them out"},
	},
	{
		"unknown recompute", "architecture", `spec: {workload: {training: {recompute: Half}}}`,
		[]string{"spec.workload.training.recompute", `supported values: "None", "Selective", "Full"`},
	},
	{
		"unknown compute", "architecture", `spec: {workload: {training: {compute: INT8}}}`,
		[]string{"spec.workload.training.compute", "must be FP8", "leave it out"},
	},
	{
		"too many runs of layers", "architecture", `spec: {workload: {training: {virtualStages: 1000}}}`,
		[]string{"spec.workload.training.virtualStages", "less than or equal to 256"},
	},
	{
		"unknown optimizer", "architecture", `spec: {workload: {training: {optimizer: Adam}}}`,
		[]string{"spec.workload.training.optimizer", `supported values: "AdamW"`},
	},
	// How.
	{
		"unknown quantization", "modelplacement", `spec: {quantization: Q4_K_M}`,
		[]string{"spec.quantization", "Q4_K_M", "must be Auto, FP32", "name the one of these that has as many or the next more"},
	},
	{
		"a quantization of one's own", "modelplacement", `spec: {quantization: example.com/q5}`,
		[]string{"spec.quantization", "it is not known how many bits a weight has"},
	},
	{
		"unknown engine", "modelplacement", `spec: {engine: vllm}`,
		[]string{"spec.engine", "vllm", "must be one of vLLM, SGLang", "a name with your domain, such as example.com/engine"},
	},
	{
		"an engine of one's own without a domain", "modelplacement", `spec: {engine: own/engine}`,
		[]string{"spec.engine", "a name with your domain"},
	},
	{
		"empty parallelism", "modelplacement", `spec: {parallelism: {tensor: null}}`,
		[]string{"spec.parallelism", "at least one of tensor, pipeline, data, expert and context must be set", "remove parallelism"},
	},
	{
		"no tensor ranks", "modelplacement", `spec: {parallelism: {tensor: 0}}`,
		[]string{"spec.parallelism.tensor", "greater than or equal to 1"},
	},
	{
		"negative copies", "modelplacement", `spec: {replicas: -1}`,
		[]string{"spec.replicas", "greater than or equal to 0"},
	},
	{
		"an enforcement that only plans know", "modelplacement", `spec: {enforcement: Exclusive}`,
		[]string{"spec.enforcement", "must be Claim, Slot or Advisory"},
	},
	{
		"unknown failure policy", "modelplacement", `spec: {failurePolicy: {action: Restart}}`,
		[]string{"spec.failurePolicy.action", `supported values: "SameShape", "AnyShape", "Hold"`},
	},
	// By what pods.
	{
		"unknown launcher", "modelplacement", `spec: {launch: {launcher: slurm}}`,
		[]string{"spec.launch.launcher", `supported values: "env", "torchrun"`},
	},
	{
		"pods without devices", "modelplacement", `spec: {launch: {devicesPerPod: 0}}`,
		[]string{"spec.launch.devicesPerPod", "greater than or equal to 1"},
	},
	{
		"hosts by what nobody knows", "modelplacement", `spec: {launch: {hosts: "llm-{rank}.llm"}}`,
		[]string{"spec.launch.hosts", "must be a host name in which {pod}, {copy}, {worker} and {-worker} stand for numbers"},
	},
	{
		"a container that cannot be", "modelplacement", `spec: {launch: {container: Model_Server}}`,
		[]string{"spec.launch.container", "must be the name of a container", "lower-case"},
	},
	{
		"a workload that does not number its pods", "modelplacement", `spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: llm}}`,
		[]string{"spec.workloadRef", "must be of a kind that numbers its pods", "use a StatefulSet"},
	},
	{
		"a workload by its resource", "modelplacement", `spec: {workloadRef: {apiVersion: apps/v1, kind: statefulsets, name: llm}}`,
		[]string{"spec.workloadRef.kind", "must be the kind of the workload"},
	},
	{
		"a workload of no version", "modelplacement", `spec: {workloadRef: {apiVersion: apps, kind: StatefulSet, name: llm}}`,
		[]string{"spec.workloadRef.apiVersion", "must be group and version of the workload"},
	},
	// On what.
	{
		"vendor in capitals", "modelplacement", `spec: {devices: {vendors: [NVIDIA]}}`,
		[]string{"spec.devices.vendors", "vendors must be in lower case as in the inventories (nvidia, amd, intel, google)"},
	},
	{
		"a vendor twice", "modelplacement", `spec: {devices: {vendors: [amd, amd]}}`,
		[]string{"spec.devices.vendors[1]", "Duplicate value"},
	},
	{
		"the host's CPU as accelerator", "modelplacement", `spec: {devices: {families: [GPU, CPU]}}`,
		[]string{"spec.devices.families", "families must be of GPU, TPU, NPU and ASIC"},
	},
	{
		"unknown family", "modelplacement", `spec: {devices: {families: [gpu]}}`,
		[]string{"spec.devices.families[0]", `supported values: "GPU", "TPU"`},
	},
	{
		"a family twice", "modelplacement", `spec: {devices: {families: [TPU, TPU]}}`,
		[]string{"spec.devices.families[1]", "Duplicate value"},
	},
	{
		"memory with a unit", "modelplacement", `spec: {devices: {minMemoryMiB: 40Gi}}`,
		[]string{"spec.devices.minMemoryMiB", "must be of type integer"},
	},
	{
		"a node selector's term without values", "modelplacement", `spec: {devices: {nodeLabelSelector: {matchExpressions: [{key: zone, operator: In}]}}}`,
		[]string{"spec.devices.nodeLabelSelector.matchExpressions[0]", "values must be set for the operators In and NotIn"},
	},
	{
		"a node selector's term with an unknown operator", "modelplacement", `spec: {devices: {nodeLabelSelector: {matchExpressions: [{key: zone, operator: Near}]}}}`,
		[]string{"spec.devices.nodeLabelSelector.matchExpressions[0].operator", `supported values: "In", "NotIn"`},
	},
	{
		"a toleration without a key", "modelplacement", `spec: {devices: {tolerations: [{effect: NoSchedule}]}}`,
		[]string{"spec.devices.tolerations[0]", "key must be set for the operator Equal", "set operator to Exists"},
	},
	{
		"a toleration of any value that has one", "modelplacement", `spec: {devices: {tolerations: [{key: example.com/pool, operator: Exists, value: gpus}]}}`,
		[]string{"spec.devices.tolerations[0]", "value must be absent for Exists"},
	},
	{
		"unknown precision", "modelplacement", `spec: {devices: {precisions: [TF32]}}`,
		[]string{"spec.devices.precisions[0]", `supported values: "FP32"`},
	},
	{
		"a topology without a level", "modelplacement", `spec: {topology: {required: null}}`,
		[]string{"spec.topology", "exactly one of required and preferred must be set"},
	},
	{
		"required and preferred level", "modelplacement", `spec: {topology: {preferred: topology.kubernetes.io/zone}}`,
		[]string{"spec.topology", "exactly one of required and preferred must be set", "required refuses a wider placement"},
	},
	{
		"a level that is no label key", "modelplacement", `spec: {topology: {required: "same rack"}}`,
		[]string{"spec.topology.required", "must be the key of a node label", "kubernetes.io/hostname"},
	},
	{
		"misspelt field", "modelplacement", `spec: {quantisation: BF16}`,
		[]string{`unknown field "spec.quantisation"`},
	},
	{
		"name too long for what is named after it", "modelplacement", `metadata: {name: a-name-of-fifty-one-characters-0123456789-0123456789}`,
		[]string{"metadata.name must have at most 50 characters", "plans, meshes and pods are named after it"},
	},
	// Inventories.
	{
		"cordoned device that is no id", "acceleratorinventory", `spec: {cordonedDevices: ["GPU 0"]}`,
		[]string{"spec.cordonedDevices", "must be ids as in status.devices", "nvidia-0000:17:00.0"},
	},
	{
		"device cordoned twice", "acceleratorinventory", `spec: {cordonedDevices: [google-accel0, google-accel0]}`,
		[]string{"spec.cordonedDevices[1]", "Duplicate value"},
	},
	// Plans.
	{
		"no stages", "shardingplan", `spec: {stages: []}`,
		[]string{"spec.stages", "at least 1 items"},
	},
	{
		"a stage that ends before it begins", "shardingplan",
		`spec: {stages: [{firstLayer: 40, lastLayer: 39, perDevice: {weightsBytes: 1, kvCacheBytes: 1, activationsBytes: 1, overheadBytes: 1, totalBytes: 4}}]}`,
		[]string{"spec.stages[0]", "firstLayer must not exceed lastLayer", "a stage has at least one layer"},
	},
	{
		"no revision", "shardingplan", `spec: {revision: 0}`,
		[]string{"spec.revision", "greater than or equal to 1"},
	},
	{
		"fewer stages than the degree says", "shardingplan", `spec: {strategy: {pipeline: 2, tensor: 2}}`,
		[]string{"spec", "stages must have one entry for each of strategy.pipeline stages", "set pipeline to"},
	},
	{
		"more devices than the degrees say", "shardingplan", `spec: {totals: {devices: 5}}`,
		[]string{"spec", "totals.devices must be tensor x pipeline x data x context x replicas", "correct the degrees"},
	},
	{
		"devices of the first shape alone", "shardingplan", strings.Replace(twoShapes, "devices: 8", "devices: 4", 1),
		[]string{"spec", "and of each of otherShapes on top", "correct the degrees or the total"},
	},
	{
		"fewer stages than the degree of another shape says", "shardingplan", strings.Replace(twoShapes, halfStages, wholeStage, 1),
		[]string{"spec.otherShapes[0]", "stages must have one entry for each of strategy.pipeline stages"},
	},
	{
		"a shape that begins too late", "shardingplan", strings.Replace(twoShapes, "firstReplica: 1", "firstReplica: 2", 1),
		[]string{"spec", "firstReplica of each of otherShapes must be the number of copies before it"},
	},
	{
		"a shape that begins too early", "shardingplan", strings.Replace(twoShapes, "firstReplica: 1", "firstReplica: 0", 1),
		[]string{"spec", "firstReplica of each of otherShapes must be the number of copies before it"},
	},
	{
		"two shapes for the same copies", "shardingplan", `spec: {totals: {devices: 12}, otherShapes: [` +
			`{firstReplica: 1, strategy: ` + twoStages + `, stages: [` + halfStages + `]}, {firstReplica: 1, strategy: ` + twoStages + `, stages: [` + halfStages + `]}]}`,
		[]string{"spec", "firstReplica of each of otherShapes must be the number of copies before it"},
	},
	{
		"shapes out of order", "shardingplan", `spec: {totals: {devices: 12}, otherShapes: [` +
			`{firstReplica: 3, strategy: ` + twoStages + `, stages: [` + halfStages + `]}, {firstReplica: 1, strategy: ` + twoStages + `, stages: [` + halfStages + `]}]}`,
		[]string{"spec", "firstReplica of each of otherShapes must be the number of copies before it"},
	},
	{
		"unknown enforcement", "shardingplan", `spec: {enforcement: Strict}`,
		[]string{"spec.enforcement", `supported values: "Claim", "Slot", "Exclusive", "Advisory"`},
	},
	// Meshes.
	{
		"order with commas", "devicemesh", `spec: {order: "tp,pp,dp"}`,
		[]string{"spec.order", "must be dimensions joined by hyphens", "tp-pp-dp"},
	},
	{
		"a dimension twice", "devicemesh", `spec: {dimensions: [{name: tp, size: 4}, {name: tp, size: 1}]}`,
		[]string{"spec.dimensions[1]", "Duplicate value"},
	},
	{
		"a dimension that does not divide the world", "devicemesh", `spec: {dimensions: [{name: tp, size: 3}]}`,
		[]string{"spec", "the size of each of dimensions must divide worldSize"},
	},
	{
		"groups that leave ranks out", "devicemesh", `spec: {groups: [{name: tp, count: 1, size: 3}]}`,
		[]string{"spec", "count x size of each of groups must be worldSize"},
	},
	{
		"a group of nobody", "devicemesh", `spec: {groups: [{name: tp, count: 1, size: 0}]}`,
		[]string{"spec.groups[0].size", "greater than or equal to 1"},
	},
	{
		"groups of another shape that leave ranks out", "devicemesh", `spec: {replicas: 4, otherShapes: [` + strings.Replace(twoRanks, "count: 1", "count: 2", 1) + `]}`,
		[]string{"spec.otherShapes[0]", "count x size of each of groups must be worldSize"},
	},
	{
		"a dimension of another shape that does not divide", "devicemesh", `spec: {replicas: 4, otherShapes: [` + strings.Replace(twoRanks, "name: tp, size: 2", "name: tp, size: 3", 1) + `]}`,
		[]string{"spec.otherShapes[0]", "the size of each of dimensions must divide worldSize"},
	},
	{
		"fewer copies than shapes have", "devicemesh", `spec: {replicas: 3, otherShapes: [` + twoRanks + `]}`,
		[]string{"spec", "otherShapes must be in order and without a gap"},
	},
	{
		"a gap between shapes", "devicemesh", `spec: {replicas: 5, otherShapes: [` + strings.Replace(twoRanks, "replicas: 3", "replicas: 2", 1) + `, ` + oneRank + `]}`,
		[]string{"spec", "otherShapes must be in order and without a gap"},
	},
	{
		"shapes that share a copy", "devicemesh", `spec: {replicas: 5, otherShapes: [` + strings.Replace(twoRanks, "replicas: 3", "replicas: 4", 1) + `, ` + oneRank + `]}`,
		[]string{"spec", "otherShapes must be in order and without a gap"},
	},
	{
		"shapes of a mesh out of order", "devicemesh", `spec: {replicas: 5, otherShapes: [` + oneRank + `, ` + twoRanks + `]}`,
		[]string{"spec", "otherShapes must be in order and without a gap"},
	},
	{
		"no copy of the mesh's own shape", "devicemesh", `spec: {replicas: 3, otherShapes: [` + strings.Replace(twoRanks, "firstReplica: 1", "firstReplica: 0", 1) + `]}`,
		[]string{"spec", "otherShapes must be in order and without a gap"},
	},
	{
		"no members", "devicemesh", `spec: {members: []}`,
		[]string{"spec.members", "at least 1 items"},
	},
}
