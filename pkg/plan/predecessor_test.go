package plan

import (
	"errors"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	truth "github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/test/plantest"
)

// predecessorPlan is a decision of ai-hwaccel 1.1.0, the system this planner's order of decisions comes from.
type predecessorPlan struct {
	ID      string `json:"id"`
	Devices []struct {
		Type      string `json:"type"`
		Available bool   `json:"available"`
		Bytes     int64  `json:"memory_bytes"`
		Chips     int    `json:"tpu_chips"`
		Version   string `json:"tpu_version"`
	} `json:"devices"`
	Interconnects []struct {
		Kind string  `json:"kind"`
		GBps float64 `json:"bandwidth_gbps"`
	} `json:"interconnects"`
	Parameters   int64  `json:"model_params"`
	Quantization string `json:"quantization"`
	Predecessor  struct {
		Strategy string `json:"strategy"`
		Degree   int    `json:"degree"`
	} `json:"predecessor"`
	Defect *string `json:"defect"`
}

const unplaceable = "does not fit"

// decisions are what this planner decides instead, with the reason; cases that are not listed agree in the kind. Every
// case that the file calls a defect is listed. The file knows types and memory, not products, so rates are not known, and
// one tensor group is taken before a pipeline, and of each the fewest devices. vLLM may use 0.9 of what the driver shows of the memory, and refuses a device on which that
// is not free beside the driver's context.
var decisions = map[string]struct{ want, why string }{
	"p01_cpu_only_fits":                  {unplaceable, "host processors are never planned on"},
	"p02_cpu_only_overcommit":            {unplaceable, "defect: a plan for the host that does not fit"},
	"p05_pp2_cuda_8g":                    {unplaceable, "each of two devices needs 7.3 GiB even with a small batch, and offers 6.8 of its 8"},
	"p06_pp3_cuda_40g":                   {"TP2", "two devices hold it (29.9 of 35.6 GiB each), and one tensor group comes before a pipeline where rates are not known"},
	"p07_pp4_cuda_80g":                   {"TP2", "defect: pseudo-layers instead of layers; two devices hold it"},
	"p08_tp8_nvswitch":                   {"TP2", "defect: takes every device; two hold it"},
	"p11_nvlink_exactly_100":             {"TP2", "links make a tensor group possible whatever their rate, and two devices hold it"},
	"p12_pp16_nvlink_no_switch":          {"PP11", "8 devices do not hold it as one group, nor are 12 or 16 degrees of 120 heads; 11 are the fewest of a pipeline, with a smaller batch than the engine's own, at which 11 would need 73.1 of 71.4 GiB on a stage of 12 layers"},
	"p13_tp16_nvswitch":                  {"PP11", "as p12"},
	"p15_tpu_v5p_256chip_single_profile": {"TP24", "defect: 256 chips as one device; 24 is the next degree over 8 that divides the 120 heads"},
	"p16_tpu_mixed_versions":             {"TP4 PP2", "defect: generations mixed in a tensor group; here each stage is of one generation"},
	"p17_pp2_gaudi3":                     {"TP2", "two devices hold it as one tensor group"},
	"p18_hetero_cuda_last_small":         {"None", "defect: the last device hid the one that fits"},
	"p19_hetero_cuda_first_small":        {"None", "defect: depends on listing order; the same devices as p18 get the same plan"},
	"p20_mixed_vendor":                   {unplaceable, "defect: three vendors in one pipeline; the most that one vendor offers is 86.4 of 112.9 GiB"},
	"p21_more_stages_than_layers":        {unplaceable, "defect: stages without layers; of 1 GiB half is the driver's context, so the engine's 0.9 are not free"},
	"p22_uneven_tail_inverted":           {unplaceable, "defect: inverted ranges; of 2.5 GiB 2.0 are free, less than the engine's 0.9"},
	"p23_numa_order":                     {unplaceable, "each of four devices needs 6.81 GiB even with a small batch, and offers 6.80 of its 8"},
	"p24_unavailable_excluded":           {"TP2", "two devices hold it as one tensor group"},
	"p28_ib_sharded":                     {"TP2", "two devices hold it as one tensor group; network ports play no part"},
	"p29_ib100_plus_nvlink10":            {"TP2", "defect: adds the network to the links to justify a tensor group; here the host alone does"},
	"p30_zero_params":                    {"no model", "a model has at least a million parameters"},
	"p31_nothing_available":              {unplaceable, "no device is not a plan of no ranks"},
	"p32_npu_fits":                       {unplaceable, "of 2 GiB 1.5 are free beside the driver's context, less than the engine's 0.9"},
	"p33_npu_too_small":                  {unplaceable, "host processors are never planned on, and the NPU is too small"},
	"p34_exact_fit":                      {unplaceable, "572 MiB hold 572 MiB of weights and no context"},
	"p35_off_by_one":                     {unplaceable, "as p34, and host processors are never planned on"},
	"p36_trn1_32xl":                      {"TP8", "8 devices hold it as one tensor group, which comes before a pipeline where rates are not known"},
	"p37_tpu_plus_gpu_pool":              {unplaceable, "defect: TPU and GPU in one pipeline; of the 94.2 GiB the TPUs alone offer 4 times 14.4, the GPU 71.4"},
	"p38_cerebras_shadows_gpu":           {"None", "defect: a device that does not fit hid one that does"},
	"p39_inf2_48xl":                      {"TP8", "as p36"},
	"p40_nvswitch_mixed_memory":          {"TP2", "defect: equal shards on a smaller device; the two large ones hold it"},
}

func TestPredecessorPlans(t *testing.T) {
	var file struct {
		Plans []predecessorPlan `json:"plans"`
	}
	truth.Decode(t, "truth/predecessor_plans.json", &file)
	if len(file.Plans) < 40 {
		t.Fatalf("%d plans, expected 40", len(file.Plans))
	}
	for _, p := range file.Plans {
		t.Run(p.ID, func(t *testing.T) {
			summary, kind := decide(t, &p)
			decision, listed := decisions[p.ID]
			switch {
			case p.Defect != nil && !listed:
				t.Errorf("%s is a defect (%s) that no decision here answers: got %s", p.ID, *p.Defect, summary)
			case listed && summary != decision.want:
				t.Errorf("got %s, want %s: %s", summary, decision.want, decision.why)
			case !listed && string(kind) != p.Predecessor.Strategy:
				t.Errorf("got %s, the predecessor says %s and no reason to differ is given", summary, p.Predecessor.Strategy)
			}
		})
	}
}

var predecessorTypes = map[string]plantest.Product{
	"CudaGpu": {Vendor: "nvidia", Name: "GPU", Family: v1alpha1.FamilyGPU}, "RocmGpu": {Vendor: "amd", Name: "GPU", Family: v1alpha1.FamilyGPU},
	"Tpu": {Vendor: "google", Family: v1alpha1.FamilyTPU}, "Gaudi": {Vendor: "intel", Name: "Gaudi", Family: v1alpha1.FamilyASIC},
	"AwsNeuron": {Vendor: "aws", Name: "Neuron", Family: v1alpha1.FamilyASIC}, "CerebrasWse": {Vendor: "cerebras", Name: "WSE", Family: v1alpha1.FamilyASIC},
	"IntelNpu": {Vendor: "intel", Name: "NPU", Family: v1alpha1.FamilyNPU}, "Cpu": {Vendor: "cpu", Family: v1alpha1.FamilyCPU},
}

// decide plans the case: a host with its devices, one link domain for all GPUs where it has links between devices, one
// for each generation of TPU chips, which are devices of their own.
func decide(t *testing.T, p *predecessorPlan) (string, v1alpha1.StrategyName) {
	n := fleet.Node{Name: "host", Inventory: &v1alpha1.AcceleratorInventory{}}
	status := &n.Inventory.Status
	linked := map[string][]v1alpha1.DeviceID{}
	links := false
	for _, i := range p.Interconnects {
		links = links || i.Kind == "NVLink" || i.Kind == "NVSwitch" || i.Kind == "XgmiInfinityFabric"
	}
	bus := 0
	for _, d := range p.Devices {
		kind, ok := predecessorTypes[d.Type]
		if !ok {
			t.Fatalf("type %s is not known here", d.Type)
		}
		kind.Name += d.Version
		kind.MiB = d.Bytes >> 20
		for range max(1, d.Chips) {
			part := kind
			if d.Chips > 1 {
				part.MiB /= int64(d.Chips)
			}
			bus++
			device := part.Device(bus)
			if !d.Available {
				device.Health.State = v1alpha1.Unhealthy
			}
			status.Devices = append(status.Devices, device)
			if d.Type == "Tpu" || links && kind.Family == v1alpha1.FamilyGPU {
				linked[kind.Name] = append(linked[kind.Name], device.ID)
			}
		}
	}
	for name, members := range linked {
		status.Links.Domains = append(status.Links.Domains, v1alpha1.LinkDomain{Name: name, Members: members})
	}
	m, err := model.FromParameters(p.Parameters)
	if err != nil {
		return "no model", ""
	}
	nodes := []fleet.Node{n}
	r := ask(m, 2048, 1, plantest.Format(v1alpha1.Quantization(p.Quantization)))
	spec, err := Plan(fleet.NewCluster(nodes), r)
	var no *Unplaceable
	if errors.As(err, &no) {
		t.Log(no.Message)
		return unplaceable, ""
	}
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, nodes, r, spec)
	return spec.Strategy.Summary, spec.Strategy.Name
}
