package launch

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

const vllmValues = `--tensor-parallel-size --pipeline-parallel-size --data-parallel-size --prefill-context-parallel-size
	--decode-context-parallel-size --max-num-seqs --max-num-batched-tokens --kv-cache-dtype --distributed-executor-backend
	--revision --quantization --dtype --max-model-len --gpu-memory-utilization --nnodes --node-rank --master-addr --master-port --data-parallel-address --data-parallel-rpc-port`

// vllmRanks are the ranks that vLLM gives a node, in the mesh's numbers. Sources: vllm/engine/arg_utils.py (world size
// divided by nodes, the data rank from the node's), vllm/config/parallel.py (nnodes_within_dp, local_world_size),
// vllm/v1/executor/multiproc_executor.py (global_start_rank = local_world_size x node_rank_within_dp).
func vllmRanks(t *testing.T, read map[string]string) []int {
	t.Helper()
	tensor, pipeline := number(t, read["--tensor-parallel-size"]), number(t, read["--pipeline-parallel-size"])
	data, context := orNumber(t, read, "--data-parallel-size", 1), orNumber(t, read, "--prefill-context-parallel-size", 1)
	nodes, node := orNumber(t, read, "--nnodes", 1), orNumber(t, read, "--node-rank", 0)
	inOne := tensor * pipeline * context
	if nodes == 1 {
		return consecutive(0, inOne*data)
	}
	counted := data * pipeline * tensor
	if counted%nodes != 0 || node >= nodes {
		t.Fatalf("vLLM asserts that %d is a multiple of nnodes %d and node rank %d is below it", counted, nodes, node)
	}
	local := counted / nodes
	dataRank, localData := node*local/(pipeline*tensor), max(local/(pipeline*tensor), 1)
	within := nodes / (data / localData)
	each := inOne / within
	if within == 0 || each*within != inOne {
		t.Fatalf("%d ranks on %d nodes", inOne, within)
	}
	return consecutive(dataRank*inOne+each*(node%within), each*localData)
}

func consecutive(first, count int) []int {
	ranks := make([]int, count)
	for i := range ranks {
		ranks[i] = first + i
	}
	return ranks
}

func TestVLLMGivesEachPodItsRanks(t *testing.T) {
	withContext := degrees(2, 2, 1)
	withContext.Context = 2
	for name, f := range map[string]fixture{
		"one node":                   {strategy: degrees(4, 1, 1)},
		"a stage on each node":       {strategy: degrees(4, 2, 1), nodes: []int{4, 4}},
		"two nodes to a stage":       {strategy: degrees(8, 1, 1), nodes: []int{4, 4}},
		"data ranks on a node":       {strategy: degrees(2, 1, 4), nodes: []int{4, 4}},
		"data ranks over nodes":      {strategy: degrees(4, 2, 2), nodes: []int{4, 4, 4, 4}},
		"context on two nodes":       {strategy: withContext, nodes: []int{4, 4}},
		"unequal nodes, equal pods":  {strategy: degrees(2, 3, 1), nodes: []int{4, 2}, options: Options{PodDevices: 2}},
		"three copies on four nodes": {strategy: copies(degrees(4, 1, 1), 3), nodes: []int{2, 4, 4, 2}, options: Options{PodDevices: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			f.engine = v1alpha1.EngineVLLM
			b := f.bundle(t, "vllm")
			for i, pod := range b.Pods {
				read := flags(t, ofPod(t, b, i), vllmValues, "--enable-expert-parallel --enable-eplb --headless")
				if diff := cmp.Diff(pod.Ranks, vllmRanks(t, read)); diff != "" {
					t.Errorf("pod %d (-planned +vLLM's):\n%s", i, diff)
				}
				if _, headless := read["--headless"]; headless != (pod.Worker > 0) {
					t.Errorf("pod %d: headless is %t: the first pod of a copy serves", i, headless)
				}
				if nodes := orNumber(t, read, "--nnodes", 1); nodes > 1 && read["--master-addr"] != b.Pods[i-pod.Worker].Host {
					t.Errorf("pod %d connects to %s, not to %s", i, read["--master-addr"], b.Pods[i-pod.Worker].Host)
				}
			}
		})
	}
}

func copies(s v1alpha1.Strategy, count int32) v1alpha1.Strategy {
	s.Replicas = count
	return s
}

// vLLM's get_pp_indices wants as many numbers as stages whose sum is the model's layers; without them it cuts 61 layers into
// 15, 15, 16 and 15.
func TestVLLMIsToldTheSplit(t *testing.T) {
	layers := []int{16, 15, 15, 15}
	b := fixture{engine: v1alpha1.EngineVLLM, strategy: degrees(1, 4, 1), layers: layers}.bundle(t, "vllm")
	if got := ints(t, variable(t, ofPod(t, b, 0), "VLLM_PP_LAYER_PARTITION")); !slices.Equal(got, layers) {
		t.Errorf("partition %v, want %v", got, layers)
	}
	b = fixture{engine: v1alpha1.EngineVLLM, strategy: degrees(2, 1, 1)}.bundle(t, "vllm")
	if value, there := ofPod(t, b, 0).value("VLLM_PP_LAYER_PARTITION"); there {
		t.Errorf("one stage is cut into %s", value)
	}
}

func TestVLLMHasThePlansLimits(t *testing.T) {
	s := degrees(4, 1, 2)
	s.Expert, s.DecodeContext = 8, 2
	f := fixture{engine: v1alpha1.EngineVLLM, strategy: s, limits: &v1alpha1.StepLimits{Tokens: 8192, Sequences: 256, Length: 4096}, cache: v1alpha1.FP8}
	want := map[string]string{
		"--tensor-parallel-size": "4", "--pipeline-parallel-size": "1", "--data-parallel-size": "2", "--decode-context-parallel-size": "2",
		"--enable-expert-parallel": "", "--max-num-seqs": "256", "--max-num-batched-tokens": "8192", "--kv-cache-dtype": "fp8",
		"--max-model-len": "4096", "--gpu-memory-utilization": "0.9", "--distributed-executor-backend": "mp",
	}
	b := f.bundle(t, "vllm")
	if diff := cmp.Diff(want, flags(t, ofPod(t, b, 0), vllmValues, "--enable-expert-parallel --enable-eplb --headless")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestVLLMRefuses(t *testing.T) {
	fixture{engine: v1alpha1.EngineVLLM, strategy: degrees(4, 1, 1), nodes: []int{2, 2}, shuffled: []int{0, 2, 1, 3}}.refused(t, "vllm", "make pods of 1 device")
	fixture{engine: v1alpha1.EngineVLLM, strategy: degrees(4, 1, 3), nodes: []int{6, 6}, options: Options{PodDevices: 6}}.refused(t, "vllm", "cut data ranks of 4")
}
