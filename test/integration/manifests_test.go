package integration

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Parts of a plan with a copy on four devices and two copies on two stages of one device each.
const (
	someBytes  = `perDevice: {weightsBytes: 1, kvCacheBytes: 1, activationsBytes: 1, overheadBytes: 1, totalBytes: 4}`
	wholeStage = `{firstLayer: 0, lastLayer: 79, ` + someBytes + `}`
	halfStages = `{firstLayer: 0, lastLayer: 39, ` + someBytes + `}, {firstLayer: 40, lastLayer: 79, ` + someBytes + `}`
	twoStages  = `{name: PipelineParallel, summary: PP2 x2, tensor: 1, pipeline: 2, data: 1, expert: 1, context: 1, replicas: 2}`
	twoShapes  = `spec: {totals: {devices: 8}, otherShapes: [{firstReplica: 1, strategy: ` + twoStages + `, stages: [` + halfStages + `]}]}`
)

// Parts of a mesh with a copy of four ranks, three of two and one of one.
const (
	twoRanks = `{firstReplica: 1, replicas: 3, worldSize: 2, dimensions: [{name: tp, size: 2}], groups: [{name: tp, count: 1, size: 2}]}`
	oneRank  = `{firstReplica: 4, replicas: 1, worldSize: 1, dimensions: [{name: tp, size: 1}], groups: [{name: tp, count: 1, size: 1}]}`
)

func TestGoodManifestsAreAccepted(t *testing.T) {
	tests := []struct{ name, base, patch string }{
		{name: "an inventory", base: "acceleratorinventory"},
		{name: "a placement with everything", base: "modelplacement"},
		{name: "the smallest placement", base: "modelplacement", patch: `spec: {quantization: null, parallelism: null, engine: null,
			replicas: null, devices: null, topology: null, failurePolicy: null, workload: {inference: {inputTokens: null, outputTokens: null, lengthVariationPercent: null, capacity: null}}}`},
		{name: "a model by parameters", base: "modelplacement", patch: `spec: {model: {name: null, parameters: 7000000000}}`},
		{name: "a model in a ConfigMap", base: "modelplacement", patch: `spec: {model: {name: null, configMap: {name: own.model}}}`},
		{name: "a model by architecture", base: "architecture"},
		{
			name: "heads without a common factor under latent attention", base: "architecture",
			patch: `spec: {model: {architecture: {attention: {kvHeads: 5, mla: {kvLoraRank: 512, qkNopeHeadDim: 128, qkRopeHeadDim: 64, vHeadDim: 128}}}}}`,
		},
		{name: "no copies", base: "modelplacement", patch: `spec: {replicas: 0}`},
		{name: "the longest name", base: "modelplacement", patch: `metadata: {name: ` + strings.Repeat("n", 50) + `}`},
		{name: "a preferred level", base: "modelplacement", patch: `spec: {topology: {required: null, preferred: topology.kubernetes.io/zone}}`},
		{name: "nodes by labels and taints", base: "modelplacement", patch: `spec: {devices: {
			nodeLabelSelector: {matchLabels: {pool: gpus}, matchExpressions: [{key: zone, operator: In, values: [a, b]}, {key: spot, operator: DoesNotExist}]},
			tolerations: [{operator: Exists}, {key: example.com/pool, value: gpus}, {key: spot, operator: Exists, effect: NoExecute}]}}`},
		{name: "pods of a workload", base: "modelplacement", patch: `spec: {workloadRef: {apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: llm},
			launch: {launcher: vllm, container: server, devicesPerPod: 2, hosts: "llm-{copy}{-worker}.llm"}}`},
		{name: "all that a server does beside", base: "modelplacement", patch: `spec: {workload: {inference: {serving: {engineVersion: 0.19.0, memoryUtilizationPercent: 85, maxBatchedTokens: 8192,
			chunkedPrefill: Enabled, prefixCache: {hitPercent: 60, sharedTokens: 100}, offload: {giB: 64, hitPercent: 39}, adapters: {count: 64, rank: 16, active: 8},
			speculation: {method: Draft, model: meta-llama/Llama-3.2-1B, parameters: 1235814400, tokens: 4, acceptancePercent: 70},
			media: {images: 2, imageTokens: 500, audioSeconds: 30, audioTokensPerSecond: 25}}}}}`},
		{name: "a plan with what a server does", base: "shardingplan", patch: `spec: {serving: {speculation: {method: MTP, tokens: 1, acceptancePercent: 0}}}`},
		{name: "an engine of one's own", base: "modelplacement", patch: `spec: {engine: inference.example.com/My_engine-2.0}`},
		{name: "a plan for an engine of one's own", base: "shardingplan", patch: `spec: {engine: example.com/engine}`},
		{name: "a plan", base: "shardingplan"},
		{name: "a plan of two shapes", base: "shardingplan", patch: twoShapes},
		{name: "a plan of three shapes", base: "shardingplan", patch: `spec: {totals: {devices: 13}, otherShapes: [
			{firstReplica: 1, strategy: {name: TensorParallel, summary: TP4, tensor: 4, pipeline: 1, data: 1, expert: 1, context: 1, replicas: 2}, stages: [` + wholeStage + `]},
			{firstReplica: 3, strategy: {name: None, summary: None, tensor: 1, pipeline: 1, data: 1, expert: 1, context: 1, replicas: 1}, stages: [` + wholeStage + `]}]}`},
		{name: "a plan with all estimates", base: "shardingplan", patch: `spec: {computeType: FP8, estimate: {
			tokensPerSecond: {value: 900, low: 800, high: 1000}, ttftMillis: {value: 120, low: 90, high: 160},
			tpotMicros: {value: 22000, low: 20000, high: 25000}, stepMillis: {value: 900, low: 800, high: 1000},
			loadSeconds: 60, microUSDPerMillionTokens: 1500000, priceBasis: list price, basis: roofline}}`},
		{name: "a mesh", base: "devicemesh"},
		{name: "a mesh of three shapes", base: "devicemesh", patch: `spec: {replicas: 5, otherShapes: [` + twoRanks + `, ` + oneRank + `]}`},
	}
	to := namespace(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := create(t, manifest(t, test.base, strings.ReplaceAll(test.patch, "\t", " ")), to, metav1.DryRunAll); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	created, err := create(t, manifest(t, "modelplacement",
		`spec: {quantization: null, engine: null, replicas: null, failurePolicy: null}`), namespace(t), metav1.DryRunAll)
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := created.Object["spec"].(map[string]any)
	failures, _ := spec["failurePolicy"].(map[string]any)
	got := map[string]any{
		"quantization": spec["quantization"], "kvCacheType": spec["kvCacheType"], "engine": spec["engine"],
		"replicas": spec["replicas"], "action": failures["action"], "nodeNotReadySeconds": failures["nodeNotReadySeconds"],
	}
	want := map[string]any{
		"quantization": "Auto", "kvCacheType": "Auto", "engine": "vLLM",
		"replicas": nil, "action": "AnyShape", "nodeNotReadySeconds": int64(300),
	}
	for field, value := range want {
		if got[field] != value {
			t.Errorf("%s defaults to %v, want %v", field, got[field], value)
		}
	}
}

// badManifest is a good manifest with a change that makes it bad, and what the refusal must say: field and remedy.
type badManifest struct {
	name, base, patch string
	want              []string
}

func TestBadManifestsAreRefused(t *testing.T) {
	to := namespace(t)
	for _, test := range badManifests {
		t.Run(test.base+"/"+test.name, func(t *testing.T) {
			_, err := create(t, manifest(t, test.base, test.patch), to, metav1.DryRunAll)
			if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
				t.Fatalf("create = %v, want a refusal of the manifest", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the refusal does not say %q:\n%v", want, err)
				}
			}
		})
	}
}
