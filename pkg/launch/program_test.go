package launch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// DeepSpeed gets the job as the configuration of deepspeed.initialize, whose batches it checks against the data ranks, and a program the path of it.
func TestDeepSpeedHasTheJob(t *testing.T) {
	plan, spec := fixture{engine: v1alpha1.EngineDeepSpeed, strategy: degrees(1, 1, 4)}.plan(t)
	plan.Training, plan.ComputeType = &v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 64, MicroBatch: 2, Sharding: "ZeRO3"}, v1alpha1.BF16
	job, err := NewJob(plan, spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := job.Write("")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Batch      int             `json:"train_batch_size"`
		MicroBatch int             `json:"train_micro_batch_size_per_gpu"`
		ZeRO       map[string]int  `json:"zero_optimization"`
		BF16       map[string]bool `json:"bf16"`
	}
	if err := json.Unmarshal([]byte(file(t, b, "copy-0.deepspeed.json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Batch != 64 || got.MicroBatch != 2 || got.ZeRO["stage"] != 3 || !got.BF16["enabled"] {
		t.Errorf("the configuration is %+v", got)
	}
	if path := variable(t, ofPod(t, b, 0), "RANKWRIGHT_DEEPSPEED_CONFIG"); path != "/etc/rankwright/mesh/copy-0.deepspeed.json" {
		t.Errorf("a program is told %q", path)
	}
}

// Programs that take no arguments of ours are told what their plan counts on, and nothing that changes with the number of copies.
func TestProgramsAreToldThePlan(t *testing.T) {
	for of, launcher := range map[v1alpha1.Engine]string{v1alpha1.EngineTorch: "env", v1alpha1.EngineDeepSpeed: "deepspeed", v1alpha1.EngineJAX: "jax", v1alpha1.EngineMPI: "openmpi"} {
		told := func(s v1alpha1.Strategy) map[string]string {
			plan, spec := fixture{engine: of, strategy: s, nodes: []int{2, 2}[:s.Replicas]}.plan(t)
			plan.Model.Checkpoint, plan.Model.Revision, plan.Quantization = "meta-llama/Llama-3.1-8B", "abc", v1alpha1.BF16
			plan.Training = &v1alpha1.TrainingWorkload{Method: "LoRA", SequenceLength: 2048, GlobalBatch: 32}
			job, err := NewJob(plan, spec, Options{})
			if err != nil {
				t.Fatal(err)
			}
			b, err := job.Write(launcher)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, v := range ofPod(t, b, 0).Variables {
				if strings.HasPrefix(v.Name, "RANKWRIGHT_") && v.Name != "RANKWRIGHT_TORCH_BACKEND" && v.Name != "RANKWRIGHT_DEEPSPEED_CONFIG" {
					got[v.Name] = v.Value
				}
			}
			return got
		}
		want := map[string]string{
			"RANKWRIGHT_CHECKPOINT": "meta-llama/Llama-3.1-8B", "RANKWRIGHT_REVISION": "abc", "RANKWRIGHT_WEIGHTS": "BF16",
			"RANKWRIGHT_DEGREES": `{"context":1,"data":2,"expert":1,"pipeline":1,"tensor":1}`, "RANKWRIGHT_LAYER_SPLIT": "1",
			"RANKWRIGHT_TRAINING": `{"method":"LoRA","sequenceLength":2048,"globalBatch":32}`,
		}
		for number := range int32(2) {
			if diff := cmp.Diff(want, told(copies(degrees(1, 1, 2), number+1))); diff != "" {
				t.Errorf("%s, %d copies (-want +got):\n%s", launcher, number+1, diff)
			}
		}
	}
}
