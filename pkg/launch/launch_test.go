package launch

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestMeshesThatCannotBeCut(t *testing.T) {
	f := fixture{engine: v1alpha1.EngineVLLM, strategy: copies(degrees(2, 1, 1), 2), nodes: []int{2, 2}}
	for name, c := range map[string]struct {
		change func(*v1alpha1.ShardingPlanSpec, *v1alpha1.DeviceMeshSpec)
		want   string
	}{
		"another plan":       {func(p *v1alpha1.ShardingPlanSpec, _ *v1alpha1.DeviceMeshSpec) { p.Strategy.Replicas = 3 }, "the plan has 3 copies and the mesh 2"},
		"other degrees":      {func(p *v1alpha1.ShardingPlanSpec, _ *v1alpha1.DeviceMeshSpec) { p.Strategy.Tensor = 4 }, "the mesh has 2 ranks and the plan tensor 4"},
		"no degree":          {func(p *v1alpha1.ShardingPlanSpec, _ *v1alpha1.DeviceMeshSpec) { p.Strategy.Context = 0 }, "context 0 must all be at least 1"},
		"a stage is missing": {func(p *v1alpha1.ShardingPlanSpec, _ *v1alpha1.DeviceMeshSpec) { p.Stages = nil }, "0 stages for pipeline 1"},
		"a gap in copies": {func(p *v1alpha1.ShardingPlanSpec, _ *v1alpha1.DeviceMeshSpec) {
			p.Strategy.Replicas = 1
			p.OtherShapes = []v1alpha1.PlanShape{{FirstReplica: 2, Strategy: degrees(2, 1, 1)}}
		}, "the plan has no copy 1"},
		"a rank is missing": {func(_ *v1alpha1.ShardingPlanSpec, m *v1alpha1.DeviceMeshSpec) { m.Members[1].FirstRank = 1 }, "members[1]: rank 2 is outside of the mesh"},
		"a copy is missing": {func(_ *v1alpha1.ShardingPlanSpec, m *v1alpha1.DeviceMeshSpec) { m.Members = m.Members[:1] }, "make 4 ranks, and members have 2 devices"},
		"a member is empty": {func(_ *v1alpha1.ShardingPlanSpec, m *v1alpha1.DeviceMeshSpec) { m.Members[0].Devices = nil }, "make 4 ranks, and members have 2 devices"},
		"no member":         {func(_ *v1alpha1.ShardingPlanSpec, m *v1alpha1.DeviceMeshSpec) { m.Members = nil }, "make 4 ranks, and members have 0 devices"},
		"no copy": {func(p *v1alpha1.ShardingPlanSpec, m *v1alpha1.DeviceMeshSpec) {
			p.Strategy.Replicas, m.Replicas, m.Members = 0, 0, nil
		}, "make 0 ranks"},
	} {
		t.Run(name, func(t *testing.T) {
			plan, spec := f.plan(t)
			c.change(plan, spec)
			if _, err := NewJob(plan, spec, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestPodsWithoutAddress(t *testing.T) {
	plan, spec := fixture{engine: v1alpha1.EngineVLLM, strategy: degrees(4, 1, 1), nodes: []int{2, 2}}.plan(t)
	spec.Members[1].Address = ""
	if _, err := NewJob(plan, spec, Options{}); err == nil || !strings.Contains(err.Error(), "pod 1 is on node n1, whose address is not known") {
		t.Errorf("error %v", err)
	}
	if _, err := NewJob(plan, spec, Options{Hosts: hosts(t, "llm-{pod}.llm")}); err != nil {
		t.Error(err)
	}
	if _, err := NewJob(plan, spec, Options{PodDevices: 3}); err == nil || !strings.Contains(err.Error(), "pods of 3 devices do not divide the 2 of copy 0 on n0") {
		t.Errorf("error %v", err)
	}
}

// Copies of different shape are worlds of their own, with the degrees, stages and limits of their shape.
func TestCopiesOfDifferentShape(t *testing.T) {
	plan, spec := fixture{engine: v1alpha1.EngineVLLM, strategy: degrees(1, 1, 1), layers: []int{8}}.plan(t)
	plan.OtherShapes = []v1alpha1.PlanShape{{
		FirstReplica: 1, Strategy: degrees(2, 2, 1), Stages: stages([]int{5, 3}, 2), StepLimits: &v1alpha1.StepLimits{Tokens: 512, Sequences: 8},
	}}
	spec.Replicas = 2
	spec.OtherShapes = []v1alpha1.MeshShape{{FirstReplica: 1, Replicas: 1, WorldSize: 4, Dimensions: []v1alpha1.MeshDimension{{Name: "tp", Size: 2}, {Name: "pp", Size: 2}}}}
	spec.Members = append(spec.Members, v1alpha1.MeshMember{Node: "n9", Address: "10.0.0.9", Replica: 1, Devices: []v1alpha1.DeviceID{"nvidia-1", "nvidia-2", "nvidia-3", "nvidia-4"}})
	job, err := NewJob(plan, spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := job.Write("")
	if err != nil {
		t.Fatal(err)
	}
	read := flags(t, ofPod(t, b, 1), vllmValues, "")
	if read["--tensor-parallel-size"] != "2" || read["--pipeline-parallel-size"] != "2" || read["--max-num-seqs"] != "8" ||
		variable(t, ofPod(t, b, 1), "VLLM_PP_LAYER_PARTITION") != "5,3" {
		t.Errorf("copy 1 has %v", ofPod(t, b, 1))
	}
	if read := flags(t, ofPod(t, b, 0), vllmValues, ""); read["--tensor-parallel-size"] != "1" || read["--max-num-seqs"] != "" {
		t.Errorf("copy 0 has %v", read)
	}
}

func TestNoSuchLauncherPodOrRank(t *testing.T) {
	f := fixture{engine: v1alpha1.EngineVLLM, strategy: degrees(2, 1, 1)}
	if _, err := f.job(t).Write("slurm"); err == nil || !strings.Contains(err.Error(), `launcher "slurm" is unknown: use one of env, torchrun, vllm`) {
		t.Errorf("error %v", err)
	}
	b := f.bundle(t, "vLLM")
	for want, of := range map[string]func() (*Environment, error){
		"there is no pod 1: the placement has pods 0 to 0":    func() (*Environment, error) { return b.OfPod(1) },
		"there is no pod -1: the placement has pods 0 to 0":   func() (*Environment, error) { return b.OfPod(-1) },
		"there is no rank 2: copy 0 has ranks 0 to 1":         func() (*Environment, error) { return b.OfRank(0, 2) },
		"there is no copy 1: the placement has copies 0 to 0": func() (*Environment, error) { return b.OfRank(1, 0) },
	} {
		if _, err := of(); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	job := f.job(t)
	job.Engine = "Slurm"
	if _, err := job.Write(""); err == nil || !strings.Contains(err.Error(), `engine "Slurm" is not known`) {
		t.Errorf("error %v", err)
	}
}
