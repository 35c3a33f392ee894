package launch

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// torch's env:// handler reads four variables (torch/distributed/rendezvous.py); every rank must find its own number, the same
// world and the same master.
func TestPlainEnv(t *testing.T) {
	b := fixture{engine: v1alpha1.EngineTorch, strategy: copies(degrees(2, 1, 3), 2), nodes: []int{5, 5, 2}, layers: []int{32}}.bundle(t, "env")
	for copied := range 2 {
		head, _ := b.OfRank(copied, 0)
		for rank := range 6 {
			e, err := b.OfRank(copied, rank)
			if err != nil {
				t.Fatal(err)
			}
			pod := b.Pods[slices.IndexFunc(b.Pods, func(p PodEnvironment) bool {
				return p.Copy == copied && slices.Contains(p.Ranks, rank)
			})]
			for name, want := range map[string]int{
				"RANK": rank, "WORLD_SIZE": 6, "LOCAL_RANK": slices.Index(pod.Ranks, rank), "LOCAL_WORLD_SIZE": len(pod.Ranks), "GROUP_RANK": pod.Worker, "NODE_RANK": pod.Worker,
			} {
				if got := number(t, variable(t, e, name)); got != want {
					t.Errorf("%s of rank %d of copy %d is %d, want %d", name, rank, copied, got, want)
				}
			}
			if variable(t, e, "MASTER_ADDR") != variable(t, head, "MASTER_ADDR") || variable(t, e, "MASTER_PORT") != variable(t, head, "MASTER_PORT") {
				t.Errorf("rank %d of copy %d has another master than rank 0: %v", rank, copied, e)
			}
		}
	}
}

// The process groups have the backend of the devices' library, and Gloo for tensors of the host.
func TestBackend(t *testing.T) {
	for vendor, want := range map[string]string{
		"nvidia": "cpu:gloo,cuda:nccl", "amd": "cpu:gloo,cuda:nccl", "huawei": "cpu:gloo,npu:hccl", "habana": "cpu:gloo,hpu:hccl", "cpu": "gloo",
	} {
		b := fixture{engine: v1alpha1.EngineTorch, strategy: degrees(2, 1, 1), vendor: vendor}.bundle(t, "env")
		if got := variable(t, ofPod(t, b, 0), variableBackend); got != want {
			t.Errorf("backend of %s is %s, want %s", vendor, got, want)
		}
	}
	plan, spec := fixture{engine: v1alpha1.EngineTorch, strategy: degrees(2, 1, 1)}.plan(t)
	spec.Library = ""
	job, err := NewJob(plan, spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := job.Write("env")
	if err != nil {
		t.Fatal(err)
	}
	if got, set := ofPod(t, b, 0).value(variableBackend); set {
		t.Errorf("a mesh without a library has the backend %s", got)
	}
}

// Copies whose first pods share a host listen on ports of their own.
func TestPortsOfCopiesOnOneHost(t *testing.T) {
	b := fixture{engine: v1alpha1.EngineTorch, strategy: copies(degrees(2, 1, 1), 3), nodes: []int{6}}.bundle(t, "env")
	seen := map[string]bool{}
	for i := range b.Copies {
		seen[variable(t, &b.Copies[i].Environment, "MASTER_ADDR")+" "+variable(t, &b.Copies[i].Environment, "MASTER_PORT")] = true
	}
	if len(seen) != 3 {
		t.Errorf("3 copies meet at %v", seen)
	}
}

// torchrun takes any option from PET_ and its name in capitals; the static rendezvous gives node i the ranks from
// i x nproc_per_node (torch/distributed/run.py, torch/distributed/elastic/agent/server/api.py).
func TestTorchrun(t *testing.T) {
	b := fixture{engine: v1alpha1.EngineTorch, strategy: degrees(4, 1, 2), nodes: []int{4, 4}}.bundle(t, "torchrun")
	for i, pod := range b.Pods {
		e := ofPod(t, b, i)
		nodes, each, node := number(t, variable(t, e, "PET_NNODES")), number(t, variable(t, e, "PET_NPROC_PER_NODE")), number(t, variable(t, e, "PET_NODE_RANK"))
		if nodes != len(b.Pods) || each != len(pod.Ranks) || node*each != pod.Ranks[0] {
			t.Errorf("pod %d: node %d of %d with %d each, want rank %d", i, node, nodes, each, pod.Ranks[0])
		}
		if variable(t, e, "PET_MASTER_ADDR") != "10.0.0.0" || variable(t, e, "PET_MASTER_PORT") != "29500" || variable(t, e, "PET_RDZV_BACKEND") != "static" {
			t.Errorf("pod %d: %v", i, e.Variables)
		}
	}
	fixture{engine: v1alpha1.EngineTorch, strategy: degrees(4, 1, 1), nodes: []int{2, 2}, shuffled: []int{0, 2, 1, 3}}.refused(t, "torchrun", "make pods of 1 device (")
}

const megatronValues = `--tensor-model-parallel-size --pipeline-model-parallel-size --context-parallel-size --expert-model-parallel-size
	--expert-tensor-parallel-size --seq-length --micro-batch-size --global-batch-size --recompute-granularity --recompute-method
	--recompute-num-layers --decoder-first-pipeline-num-layers --decoder-last-pipeline-num-layers`

// megatronSplit is Megatron's division: equal stages, or what is left between the first and the last divided equally
// (megatron/core/transformer/transformer_config.py).
func megatronSplit(t *testing.T, read map[string]string, layers int) []int {
	t.Helper()
	stages := number(t, read["--pipeline-model-parallel-size"])
	split := make([]int, stages)
	first, given := read["--decoder-first-pipeline-num-layers"]
	if !given {
		if layers%stages != 0 {
			t.Fatalf("%d layers do not divide by %d stages", layers, stages)
		}
		for i := range split {
			split[i] = layers / stages
		}
		return split
	}
	split[0], split[stages-1] = number(t, first), number(t, read["--decoder-last-pipeline-num-layers"])
	left := layers - split[0] - split[stages-1]
	if middle := stages - 2; middle > 0 {
		if left%middle != 0 {
			t.Fatalf("%d layers do not divide by %d stages", left, middle)
		}
		for i := 1; i < stages-1; i++ {
			split[i] = left / middle
		}
	} else if left != 0 {
		t.Fatalf("%d layers are left over", left)
	}
	return split
}

func TestMegatron(t *testing.T) {
	for _, layers := range [][]int{{16, 16}, {13, 14}, {15, 16, 16, 14}, {20, 20, 20, 20}, {14, 16, 16, 16}, {9}} {
		total := 0
		for _, n := range layers {
			total += n
		}
		s := degrees(2, int32(len(layers)), 2)
		s.Expert = 2
		f := fixture{engine: v1alpha1.EngineMegatron, strategy: s, layers: layers}
		b := f.bundle(t, "megatron")
		read := flags(t, ofPod(t, b, 0), megatronValues, "--bf16")
		if diff := cmp.Diff(layers, megatronSplit(t, read, total)); diff != "" {
			t.Errorf("(-planned +Megatron's):\n%s", diff)
		}
		if read["--tensor-model-parallel-size"] != "2" || read["--context-parallel-size"] != "1" || read["--expert-model-parallel-size"] != "2" || read["--expert-tensor-parallel-size"] != "2" {
			t.Errorf("degrees %v", read)
		}
		if got := variable(t, ofPod(t, b, 0), "PET_NPROC_PER_NODE"); number(t, got) != 4*len(layers) {
			t.Errorf("%s processes", got)
		}
	}
	fixture{engine: v1alpha1.EngineMegatron, strategy: degrees(1, 4, 1), layers: []int{4, 4, 5, 4}}.refused(t, "megatron", "only the first and the last stage may differ")
}

// DeepSpeed's runner reads `^(\S+)\s+slots=(\d+)`, refuses a host twice and numbers ranks in the file's order.
func TestDeepSpeed(t *testing.T) {
	f := fixture{engine: v1alpha1.EngineDeepSpeed, strategy: degrees(1, 3, 2), layers: []int{11, 11, 10}, nodes: []int{4, 2}}
	b := f.bundle(t, "deepspeed")
	if diff := cmp.Diff(plannedHosts(b, 0), bySlot(readHosts(t, `^(\S+)\s+slots=(\d+)`, file(t, b, "copy-0.deepspeed-hostfile")))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range b.Pods {
		want := map[string]string{
			"--hostfile": "/etc/rankwright/mesh/copy-0.deepspeed-hostfile", "--master_addr": "10.0.0.0", "--master_port": "29500", "--no_ssh": "", "--node_rank": []string{"0", "1"}[i],
		}
		if diff := cmp.Diff(want, flags(t, ofPod(t, b, i), "--hostfile --master_addr --master_port --node_rank", "--no_ssh")); diff != "" {
			t.Errorf("pod %d (-want +got):\n%s", i, diff)
		}
	}
	f.layers = []int{10, 11, 11}
	f.refused(t, "deepspeed", "stages of [10 11 11] layers, since it cuts by itself")
}

// Megatron is told the job as the plan counted it, and nothing where the plan does not say it.
func TestMegatronHasTheJob(t *testing.T) {
	plan, spec := fixture{engine: v1alpha1.EngineMegatron, strategy: degrees(2, 1, 2)}.plan(t)
	for _, c := range []struct {
		job      *v1alpha1.TrainingWorkload
		computed v1alpha1.Precision
		want     string
	}{
		{nil, v1alpha1.BF16, " --bf16"},
		{nil, v1alpha1.FP16, " --fp16"},
		{nil, v1alpha1.FP32, ""},
		{&v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 64}, v1alpha1.BF16, " --bf16 --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 --overlap-grad-reduce"},
		{
			&v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 64, MicroBatch: 2, Sharding: "ZeRO1", ActivationCheckpointing: true}, v1alpha1.BF16,
			" --bf16 --seq-length 4096 --micro-batch-size 2 --global-batch-size 64 --overlap-grad-reduce --use-distributed-optimizer --overlap-param-gather" +
				" --recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
		},
		{
			&v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 64, Recompute: "Selective", SequenceParallel: true, Compute: "FP8"}, v1alpha1.BF16,
			" --bf16 --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 --overlap-grad-reduce --sequence-parallel --fp8-format hybrid" +
				" --recompute-granularity selective --recompute-modules mlp",
		},
	} {
		plan.Training, plan.Quantization, plan.ComputeType, plan.KVCacheType = c.job, c.computed, c.computed, ""
		job, err := NewJob(plan, spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := job.Write("")
		if err != nil {
			t.Fatal(err)
		}
		want := "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 --context-parallel-size 1" + c.want
		if got := strings.Join(ofPod(t, b, 0).Arguments, " "); got != want {
			t.Errorf("%+v: %s, want %s", c.job, got, want)
		}
	}
}

// Runs of interleaved stages are told by their layers, one by one where they differ, and tokens are shared out with one queue to the
// device.
func TestMegatronInterleaves(t *testing.T) {
	for _, c := range []struct {
		layers []int
		job    v1alpha1.TrainingWorkload
		want   string
	}{
		{[]int{16, 16}, v1alpha1.TrainingWorkload{VirtualStages: 4, SequenceParallel: true}, "--global-batch-size 64 --num-layers-per-virtual-pipeline-stage 4 --sequence-parallel"},
		{
			[]int{16, 16},
			v1alpha1.TrainingWorkload{VirtualStages: 3, SequenceParallel: true},
			"--global-batch-size 64 --pipeline-model-parallel-layout Etttttt|tttttt|ttttt|ttttt|ttttt|tttttL --sequence-parallel",
		},
	} {
		plan, spec := fixture{engine: v1alpha1.EngineMegatron, strategy: degrees(2, 2, 1), layers: c.layers}.plan(t)
		c.job.SequenceLength, c.job.GlobalBatch = 4096, 64
		plan.Training = &c.job
		job, err := NewJob(plan, spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := job.Write("")
		if err != nil {
			t.Fatal(err)
		}
		e := ofPod(t, b, 0)
		if got := strings.Join(e.Arguments, " "); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
		if got := variable(t, e, "CUDA_DEVICE_MAX_CONNECTIONS"); got != "1" {
			t.Error(got)
		}
	}
}

// What the table of an engine does not have, or has in another range, is not written.
func TestCommandsAreHeldToTheTable(t *testing.T) {
	f := fixture{engine: v1alpha1.EngineVLLM, strategy: degrees(1, 1, 1), limits: &v1alpha1.StepLimits{Tokens: 0, Sequences: 8}}
	f.refused(t, "vllm", `--max-num-batched-tokens "0": use a number from 1 on`)
	f = fixture{engine: v1alpha1.EngineVLLM, strategy: degrees(1, 1, 1), cache: v1alpha1.INT8}
	f.refused(t, "vllm", `--kv-cache-dtype "": use one of float16, bfloat16`)
	f = fixture{engine: v1alpha1.EngineTensorRTLLM, strategy: degrees(1, 1, 1), cache: v1alpha1.INT8}
	f.refused(t, "tensorrt-llm", `kv_cache_config.dtype "": use one of auto, fp8`)
}

// Weights that an engine makes while it loads them, the checkpoint and its revision are told.
func TestCheckpointIsTold(t *testing.T) {
	plan, spec := fixture{engine: v1alpha1.EngineVLLM, strategy: degrees(1, 1, 1)}.plan(t)
	plan.Model.Checkpoint, plan.Model.Revision, plan.Model.StoredIn, plan.Quantization = "meta-llama/Llama-3.1-8B", "v1", v1alpha1.BF16, v1alpha1.FP8
	job, err := NewJob(plan, spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := job.Write("")
	if err != nil {
		t.Fatal(err)
	}
	e := ofPod(t, b, 0)
	if got := variable(t, e, "RANKWRIGHT_CHECKPOINT"); got != "meta-llama/Llama-3.1-8B" {
		t.Errorf("checkpoint %s", got)
	}
	read := flags(t, e, vllmValues, "--enable-expert-parallel --headless")
	if read["--revision"] != "v1" || read["--quantization"] != "fp8" || read["--dtype"] != "bfloat16" || read["--kv-cache-dtype"] != "bfloat16" {
		t.Errorf("%v", read)
	}
}
