package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// The tests of this file are the defects of the predecessor's planner, one each; that of its prices is in pkg/estimate.

func devicesIn(spec *v1alpha1.ShardingPlanSpec) map[string]bool {
	used := map[string]bool{}
	for _, row := range spec.Nodes {
		for _, id := range row.Devices {
			used[row.Node+"/"+string(id)] = true
		}
	}
	return used
}

func gaudi(mib int64) plantest.Product {
	return plantest.Product{Vendor: "intel", Name: "HL-325L", Family: v1alpha1.FamilyASIC, MiB: mib}
}

// Tokens per second had a term of the model's size on one device and none on several: 7B went from 5.7 to 52 on a second
// device, and 70B and 200B were equally fast on eight. There was no roofline, prefill, batch or time to the first token.
func TestDefectThroughputIgnoresTheModel(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H200)...)}
	at := func(billions int64, tensor, sequences int32) *v1alpha1.Estimate {
		m, err := model.FromParameters(billions * 1e9)
		if err != nil {
			t.Fatal(err)
		}
		return estimatedFor(t, nodes, ask(m, 2048, sequences, plantest.Format("BF16"), plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(tensor), Pipeline: plantest.Ptr(int32(1))})))
	}
	one, two := at(7, 1, 1), at(7, 2, 1)
	if speedup := float64(two.TokensPerSecond.Value) / float64(one.TokensPerSecond.Value); speedup < 1 || speedup > 2 {
		t.Errorf("a second device makes 7B %.2f times as fast", speedup)
	}
	small, large := at(70, 8, 1), at(200, 8, 1)
	if ratio := float64(small.TokensPerSecond.Value) / float64(large.TokensPerSecond.Value); ratio < 1.8 || ratio > 200./70 {
		t.Errorf("70B is %.2f times as fast as 200B on the same devices, and reads 2.9 times less", ratio)
	}
	if many := at(7, 1, 64); many.TokensPerSecond.Value < 20*one.TokensPerSecond.Value || many.TTFTMillis.Value <= one.TTFTMillis.Value {
		t.Errorf("64 sequences at once: %+v, one: %+v", many, one)
	}
}

// Memory was weights and a flat fifth: no context, batch, KV heads, cache format or experts, and the device's total instead
// of what is free of it.
func TestDefectMemoryIsAFlatFifth(t *testing.T) {
	total := func(change func(*shape.Request)) int64 {
		r := ask(plantest.Llama(t, 8), 4096, 8, plantest.Format("BF16"), plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(1)), Pipeline: plantest.Ptr(int32(1))}))
		change(&r)
		return mustPlan(t, fleet.NewCluster([]fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H200)...)}), r).Totals.TotalBytes
	}
	base := total(func(*shape.Request) {})
	for name, change := range map[string]func(*shape.Request){
		"longer context": func(r *shape.Request) { r.Placement.Spec.Workload.Inference.MaxModelLen *= 2 },
		"more sequences": func(r *shape.Request) { r.Placement.Spec.Workload.Inference.MaxSequences *= 2 },
		"more KV heads":  func(r *shape.Request) { r.Model.Architecture.Attention.KVHeads = 32 },
	} {
		if got := total(change); got <= base {
			t.Errorf("%s: %d bytes, no more than %d", name, got, base)
		}
	}
	if got := total(func(r *shape.Request) { r.Placement.Spec.KVCacheType = "FP8" }); got >= base {
		t.Errorf("a cache in 8 bits takes %d bytes, no less than %d", got, base)
	}
	mixtral := mixture(t)
	if got := total(func(r *shape.Request) { r.Model = mixtral }); got < mixtral.WeightBytes(v1alpha1.BF16) {
		t.Errorf("a mixture takes %d bytes, fewer than all of its experts", got)
	}
	full := []fleet.Node{plantest.Host("a", true, plantest.H100)}
	full[0].Inventory.Status.Devices[0].Memory.UsedByOthersMiB = 70000
	if spec, err := Plan(fleet.NewCluster(full), ask(plantest.Llama(t, 8), 4096, 8, plantest.Format("BF16"))); err == nil {
		t.Errorf("80 GiB of which 12 are free hold 15 GiB of weights: %+v", spec.Nodes)
	}
	if c := fleet.NewCluster([]fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.T4)...)}); mustPlan(t, c, ask(plantest.Llama(t, 8), 2048, 1)).Quantization == v1alpha1.BF16 {
		t.Error("BF16 on a T4, which has none")
	}
}

// Equal shards overflowed the smaller of unequal devices.
func TestDefectEqualShardsOverflow(t *testing.T) {
	small := plantest.H100
	small.MiB, small.Name = 24576, "small"
	m, err := model.FromParameters(44e9)
	if err != nil {
		t.Fatal(err)
	}
	nodes := []fleet.Node{plantest.Host("a", true, plantest.H100, small)}
	r := ask(m, 2048, 1, plantest.Format("BF16"))
	spec := mustPlan(t, fleet.NewCluster(nodes), r)
	checkPlan(t, nodes, r, spec)
	if a, b := spec.Stages[0].PerDevice.TotalBytes, spec.Stages[1].PerDevice.TotalBytes; max(a, b) < 2*min(a, b) {
		t.Errorf("stages of %d and %d bytes on 80 and 24 GiB", a, b)
	}
}

// Every device was taken, never a part of them, never tensor groups in a pipeline, never copies.
func TestDefectTakesEveryDevice(t *testing.T) {
	for _, test := range []struct {
		nodes   int
		request shape.Request
		summary string
		devices int32
	}{
		{1, ask(plantest.Llama(t, 8), 8192, 16), "None", 1},
		{2, ask(plantest.Llama(t, 405), 4096, 4, plantest.Format("BF16")), "TP8 PP2", 16},
		{2, ask(plantest.Llama(t, 8), 8192, 16, plantest.Replicas(3)), "None x3", 3},
	} {
		var nodes []fleet.Node
		for i := range test.nodes {
			nodes = append(nodes, plantest.Host(fmt.Sprint("n", i), true, plantest.Times8(plantest.H100)...))
		}
		spec := mustPlan(t, fleet.NewCluster(nodes), test.request)
		checkPlan(t, nodes, test.request, spec)
		if spec.Strategy.Summary != test.summary || spec.Totals.Devices != test.devices {
			t.Errorf("%s on %d devices, want %s on %d", spec.Strategy.Summary, spec.Totals.Devices, test.summary, test.devices)
		}
	}
}

// Devices of all vendors were one group; a device of the highest rank that did not fit, or that was listed last, hid one
// that held the model alone; and the order of the list changed the plan.
func TestDefectVendorsInOneGroup(t *testing.T) {
	wafer := plantest.Product{Vendor: "cerebras", Name: "WSE", Family: v1alpha1.FamilyASIC, MiB: 45056}
	amd := plantest.Mi300x
	amd.MiB = 24576
	products := []plantest.Product{wafer, amd, gaudi(24576), plantest.V5p, plantest.H100}
	want := ""
	for turn := range products {
		order := append(slices.Clone(products[turn:]), products[:turn]...)
		n := fleet.Node{Name: "a", Inventory: &v1alpha1.AcceleratorInventory{}}
		for _, p := range order {
			n.Inventory.Status.Devices = append(n.Inventory.Status.Devices, p.Device(slices.IndexFunc(products, func(q plantest.Product) bool { return q.Name == p.Name })))
		}
		m, err := model.FromParameters(30e9)
		if err != nil {
			t.Fatal(err)
		}
		r := ask(m, 2048, 1, plantest.Format("BF16"))
		spec := mustPlan(t, fleet.NewCluster([]fleet.Node{n}), r)
		checkPlan(t, []fleet.Node{n}, r, spec)
		got := fmt.Sprint(spec.Strategy.Summary, spec.Nodes)
		if want == "" {
			want = got
		}
		if got != want || spec.Strategy.Summary != "None" {
			t.Errorf("in another order %s, then %s", want, got)
		}
	}
}

// Tensor shards had layers (0,0), and none said which device it was.
func TestDefectShardsNameNoDevice(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Many(4, plantest.V5p)...)}
	spec := mustPlan(t, fleet.NewCluster(nodes), ask(plantest.Llama(t, 70), 8192, 8, plantest.Format("BF16")))
	if n := len(devicesIn(spec)); n != int(spec.Totals.Devices) || n < 2 {
		t.Errorf("%d devices are named of %d", n, spec.Totals.Devices)
	}
	if len(spec.Stages) != 1 || spec.Stages[0].FirstLayer != 0 || spec.Stages[0].LastLayer != 79 {
		t.Errorf("the ranks hold layers %+v of 80", spec.Stages)
	}
}

// Stages had inverted, repeated or missing layers, and the layers were units of 250M parameters: 280 for 70B, which has 80.
func TestDefectStagesWithoutLayers(t *testing.T) {
	for stages := int32(1); stages <= 32; stages++ {
		nodes := make([]fleet.Node, stages)
		for i := range nodes {
			nodes[i] = plantest.Host(fmt.Sprintf("n%02d", i), false, plantest.H100)
		}
		r := ask(plantest.Llama(t, 8), 2048, 1, plantest.Format("BF16"), plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(1)), Pipeline: plantest.Ptr(stages)}))
		checkPlan(t, nodes, r, mustPlan(t, fleet.NewCluster(nodes), r))
	}
	_, err := Plan(fleet.NewCluster([]fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}), ask(plantest.Llama(t, 8), 2048, 1, plantest.Parallelism(v1alpha1.Parallelism{Pipeline: plantest.Ptr(int32(33))})))
	if bad := (*shape.InvalidRequest)(nil); !errors.As(err, &bad) || !strings.Contains(bad.Message, "32 layers") {
		t.Errorf("33 stages of 32 layers: %v", err)
	}
}

// A profile of 256 chips counted as one device, which was given 972 GB on a chip of 95 GiB.
func TestDefectChipsAreOneDevice(t *testing.T) {
	var nodes []fleet.Node
	for i := range 64 {
		n := plantest.Host(fmt.Sprintf("n%02d", i), true, plantest.Many(4, plantest.V5p)...)
		n.Inventory.Status.Links.Domains[0].Fabric = &v1alpha1.Fabric{ClusterUUID: "slice"}
		nodes = append(nodes, n)
	}
	r := ask(plantest.Llama(t, 405), 4096, 4, plantest.Format("BF16"))
	spec := mustPlan(t, fleet.NewCluster(nodes), r)
	checkPlan(t, nodes, r, spec)
	for _, s := range spec.Stages {
		if s.PerDevice.TotalBytes > plantest.V5p.MiB<<20 {
			t.Errorf("%d bytes on a chip of %d", s.PerDevice.TotalBytes, plantest.V5p.MiB<<20)
		}
	}
	none := plantest.Host("a", true)
	if spec, err := Plan(fleet.NewCluster([]fleet.Node{none}), r); err == nil {
		t.Errorf("no chips hold it: %+v", spec.Nodes)
	}
}

// The host was returned as a success although the model did not fit, and its memory counted as the devices'.
func TestDefectHostAsFallback(t *testing.T) {
	cpu := plantest.Product{Vendor: "cpu", Name: "EPYC", Family: v1alpha1.FamilyCPU, MiB: 4 << 20}
	small := plantest.T4
	for name, products := range map[string][]plantest.Product{"host alone": {cpu}, "host beside a small device": {cpu, small}} {
		n := plantest.Host("a", false, products...)
		n.Inventory.Status.Host.Memory.TotalMiB = 4 << 20
		_, err := Plan(fleet.NewCluster([]fleet.Node{n}), ask(plantest.Llama(t, 70), 2048, 1, plantest.Format("BF16")))
		if no := (*Unplaceable)(nil); !errors.As(err, &no) {
			t.Errorf("%s: %v", name, err)
		} else if no.Shortfall.FreeMiB > small.MiB {
			t.Errorf("%s: %d MiB are said to be free", name, no.Shortfall.FreeMiB)
		}
	}
}

// The interconnect was one number for everything: a switch on one host made a tensor group over all, network ports
// justified one inside a host, links below a threshold none, and stages were not kept on linked pairs.
func TestDefectOneInterconnect(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.H100)...), plantest.Host("b", false, plantest.Many(2, plantest.H100)...), plantest.Host("c", true, plantest.Many(2, plantest.H100)...)}
	r := ask(plantest.Llama(t, 405), 2048, 1, plantest.Format("FP8"))
	spec := mustPlan(t, fleet.NewCluster(nodes), r)
	checkPlan(t, nodes, r, spec) // no tensor group goes over nodes
	if spec.Strategy.Tensor > 2 {
		t.Errorf("%s over hosts of two devices", spec.Strategy.Summary)
	}

	var without, with []fleet.Node
	for _, list := range []*[]fleet.Node{&without, &with} {
		*list = []fleet.Node{plantest.Host("a", false, plantest.Many(2, plantest.L40s)...)}
	}
	with[0].Inventory.Status.NICs = []v1alpha1.NIC{{Name: "mlx5_0/1", Kind: v1alpha1.NICInfiniBand, Gbps: 800, Up: true}}
	r = ask(plantest.Llama(t, 8), 8192, 16, plantest.Format("BF16"))
	a, b := mustPlan(t, fleet.NewCluster(without), r), mustPlan(t, fleet.NewCluster(with), r)
	a.Estimate.LoadSeconds, b.Estimate.LoadSeconds = 0, 0 // weights may come over the network
	if a.Strategy != b.Strategy || *a.Estimate != *b.Estimate {
		t.Errorf("a network port changes what one host does: %s %+v and %s %+v", a.Strategy.Summary, a.Estimate, b.Strategy.Summary, b.Estimate)
	}

	slow := plantest.Host("a", true, plantest.Many(2, plantest.H100)...)
	slow.Inventory.Status.Links.Domains[0].DeviceMBps = 99_000
	r = ask(plantest.Llama(t, 70), 4096, 8, plantest.Format("FP8"), plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(2))}))
	checkPlan(t, []fleet.Node{slow}, r, mustPlan(t, fleet.NewCluster([]fleet.Node{slow}), r))

	pairs := plantest.Host("a", false, plantest.Many(4, plantest.H100)...)
	for i := range 2 { // the first is linked to the third, the second to the fourth
		members := []v1alpha1.DeviceID{pairs.Inventory.Status.Devices[i].ID, pairs.Inventory.Status.Devices[i+2].ID}
		pairs.Inventory.Status.Links.Domains = append(pairs.Inventory.Status.Links.Domains, v1alpha1.LinkDomain{Name: fmt.Sprint("pair", i), Kind: "NVLink", Members: members})
	}
	r = ask(plantest.Llama(t, 70), 2048, 1, plantest.Format("BF16"), plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(1)), Pipeline: plantest.Ptr(int32(2))}))
	r.Placement.Spec.Quantization = "FP8"
	used := devicesIn(mustPlan(t, fleet.NewCluster([]fleet.Node{pairs}), r))
	whole := false
	for _, d := range pairs.Inventory.Status.Links.Domains {
		whole = whole || used["a/"+string(d.Members[0])] && used["a/"+string(d.Members[1])]
	}
	if !whole {
		t.Errorf("a pipeline of two is on %v and not on a linked pair", used)
	}
}

// The format was chosen for one device: 70B on eight of 80 GiB went to INT8, a small TPU took INT8 before FP16 on a GPU,
// other accelerators were ignored, formats came back that did not fit, and FP8 was not known.
func TestDefectFormatForOneDevice(t *testing.T) {
	for name, test := range map[string]struct {
		nodes   []fleet.Node
		request shape.Request
		want    v1alpha1.Precision
	}{
		"eight devices hold 16 bits":  {[]fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}, ask(plantest.Llama(t, 70), 8192, 8), v1alpha1.BF16},
		"16 bits before a small TPU":  {[]fleet.Node{plantest.Host("a", true, plantest.H100), plantest.Host("b", true, plantest.Product{Vendor: "google", Name: "TPU v5e", Family: v1alpha1.FamilyTPU, MiB: 16384, GBps: 819, TFLOPS: plantest.V5p.TFLOPS})}, ask(plantest.Llama(t, 8), 4096, 4), v1alpha1.BF16},
		"other accelerators count":    {[]fleet.Node{plantest.Host("a", true, plantest.Times8(gaudi(131072))...)}, ask(plantest.Llama(t, 70), 8192, 8), v1alpha1.BF16},
		"FP8 where it is native":      {[]fleet.Node{plantest.Host("a", true, plantest.H100)}, ask(plantest.Llama(t, 70), 2048, 1), v1alpha1.FP8},
		"FP8 where nothing is native": {[]fleet.Node{plantest.Host("a", true, plantest.A100)}, ask(plantest.Llama(t, 70), 2048, 1), v1alpha1.FP8},
		"INT8 where it is published":  {[]fleet.Node{plantest.Host("a", true, plantest.A100)}, ask(published(t, "Llama-3.1-70B"), 2048, 1), v1alpha1.INT8},
		"FP8 on two":                  {[]fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.H100)...)}, ask(plantest.Llama(t, 70), 8192, 8), v1alpha1.FP8},
	} {
		spec, err := Plan(fleet.NewCluster(test.nodes), test.request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkPlan(t, test.nodes, test.request, spec)
		if spec.Quantization != test.want {
			t.Errorf("%s: %s, want %s", name, spec.Quantization, test.want)
		}
	}
	if spec, err := Plan(fleet.NewCluster([]fleet.Node{plantest.Host("a", false, plantest.T4)}), ask(plantest.Llama(t, 405), 2048, 1)); err == nil {
		t.Errorf("405B in %s on a T4", spec.Quantization)
	}
}

// Parameters times bits wrapped around, and layers were cut to 32 bits.
func TestDefectAmountsOverflow(t *testing.T) {
	for _, parameters := range []int64{1e14, 9e13, 1 << 46} {
		m, err := model.FromParameters(parameters)
		if err != nil {
			t.Fatal(err)
		}
		if bytes := m.WeightBytes(v1alpha1.FP32); bytes < 4*parameters {
			t.Errorf("%d parameters are %d bytes in FP32", parameters, bytes)
		}
		_, err = Plan(fleet.NewCluster([]fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}), ask(m, 1<<24, 1<<20, plantest.Format("FP32")))
		if no := (*Unplaceable)(nil); !errors.As(err, &no) || no.Shortfall.NeededMiB < parameters>>20 {
			t.Errorf("%d parameters: %v", parameters, err)
		}
	}
	for _, parameters := range []int64{-1, 0, 1 << 62} {
		if _, err := model.FromParameters(parameters); err == nil {
			t.Errorf("%d parameters are a model", parameters)
		}
	}
	var no memory.Device
	no.TotalBytes, no.OthersBytes = 1<<62, -1<<62
	if memory.Offer(v1alpha1.EngineVLLM, false, 0, no) < 0 {
		t.Error("a device offers less than nothing")
	}
}
