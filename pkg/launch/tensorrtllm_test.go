package launch

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// llmArgs are the fields of TensorRT-LLM's BaseLlmArgs and KvCacheConfig (tensorrt_llm/llmapi/llm_args.py), which refuse
// others.
type llmArgs struct {
	Tensor      int           `json:"tensor_parallel_size"`
	Pipeline    int           `json:"pipeline_parallel_size"`
	Context     int           `json:"context_parallel_size"`
	PerNode     int           `json:"gpus_per_node"`
	Expert      int           `json:"moe_expert_parallel_size"`
	AttentionDP bool          `json:"enable_attention_dp"`
	Partition   []int         `json:"pp_partition"`
	Batch       int           `json:"max_batch_size"`
	Tokens      int           `json:"max_num_tokens"`
	Cache       kvCacheConfig `json:"kv_cache_config"`
	Dtype       string        `json:"dtype"`
	Length      int           `json:"max_seq_len"`
}

type kvCacheConfig struct {
	Dtype string  `json:"dtype"`
	Part  float64 `json:"free_gpu_memory_fraction"`
}

func TestTensorRTLLMOptions(t *testing.T) {
	attention := degrees(1, 1, 8)
	attention.Expert = 8
	for name, c := range map[string]struct {
		fixture
		want llmArgs
	}{
		"a pipeline on two nodes": {
			fixture{strategy: degrees(4, 2, 1), layers: []int{30, 31}, nodes: []int{4, 4}, cache: v1alpha1.FP8},
			llmArgs{Tensor: 4, Pipeline: 2, Context: 1, PerNode: 4, Partition: []int{30, 31}, Cache: kvCacheConfig{"fp8", 0.9}},
		},
		"data ranks are tensor ranks": {
			fixture{strategy: attention, limits: &v1alpha1.StepLimits{Tokens: 4096, Sequences: 32, Length: 2048}},
			llmArgs{Tensor: 8, Pipeline: 1, Context: 1, PerNode: 8, Expert: 8, AttentionDP: true, Batch: 32, Tokens: 4096, Length: 2048, Dtype: "bfloat16", Cache: kvCacheConfig{"auto", 0.9}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.engine = v1alpha1.EngineTensorRTLLM
			b := c.bundle(t, "tensorrt-llm")
			var got llmArgs
			if err := yaml.UnmarshalStrict([]byte(file(t, b, "copy-0.trtllm.yaml")), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			// Mapping: node and local rank are rank divided by gpus_per_node.
			for _, pod := range b.Pods {
				if pod.Ranks[0]/got.PerNode != pod.Worker || pod.Ranks[0]%got.PerNode != 0 {
					t.Errorf("pod %d starts at rank %d, which is not the first of a node of %d", pod.Pod, pod.Ranks[0], got.PerNode)
				}
			}
			read := flags(t, ofPod(t, b, 0), "--extra_llm_api_options", "")
			if read["--extra_llm_api_options"] != "/etc/rankwright/mesh/copy-0.trtllm.yaml" {
				t.Errorf("options are read from %v", read)
			}
			if !bytes.Equal([]byte(file(t, b, "copy-0.hostfile")), []byte(file(t, c.bundle(t, "openmpi"), "copy-0.hostfile"))) {
				t.Error("the host file is not Open MPI's")
			}
		})
	}
}

func TestTensorRTLLMRefuses(t *testing.T) {
	fixture{engine: v1alpha1.EngineTensorRTLLM, strategy: degrees(2, 1, 2)}.refused(t, "tensorrt-llm", "set tensor to 1 and data to the number of devices")
	fixture{engine: v1alpha1.EngineTensorRTLLM, strategy: degrees(2, 3, 1), nodes: []int{4, 2}}.refused(t, "tensorrt-llm", "pods 0 and 1 are both 10.0.0.0: name each pod")
}
