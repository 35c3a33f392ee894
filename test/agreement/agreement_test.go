package agreement

import (
	"math"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/estimate"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/price"
)

func product(t *testing.T, name string) *accelerator.Product {
	t.Helper()
	p, err := accelerator.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func lookup(t *testing.T, name string) *model.Model {
	t.Helper()
	m, err := model.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func row(t *testing.T, name string) *engine.Engine {
	t.Helper()
	e, err := engine.Find(v1alpha1.Engine(name))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// degreesOf are the degrees that are asked about: of tensor and pipeline alone and together, and of a mixture with groups
// that attend to sequences of their own, with experts cut and whole.
func degreesOf(a *v1alpha1.Architecture) [][4]int {
	var all [][4]int
	for _, tensor := range []int{1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64} {
		all = append(all, [4]int{tensor, 1, 1, 1})
		if a.MoE != nil && tensor > 1 {
			all = append(all, [4]int{tensor, 1, 1, tensor}, [4]int{tensor, 1, 1, 2})
		}
	}
	for _, pipeline := range []int{2, 3, 5} {
		all = append(all, [4]int{1, pipeline, 1, 1}, [4]int{2, pipeline, 1, 1})
	}
	if a.MoE == nil {
		return all
	}
	for _, data := range []int{2, 8} {
		all = append(all, [4]int{1, 1, data, data}, [4]int{1, 1, data, 1}, [4]int{2, 1, data, 2 * data})
	}
	return all
}

// asking asks all about a question and returns the answer.
type asking func(t *testing.T, q *question, cluster *fleet.Cluster) bool

// everyModel asks about every engine and model, or a sample of models, on one product, in every degree with each of the jobs for the i-th degrees.
func everyModel(t *testing.T, degrees func(*v1alpha1.Architecture) [][4]int, jobs func(i int) []*v1alpha1.TrainingWorkload, ask asking) {
	t.Helper()
	h200 := product(t, "NVIDIA H200")
	for _, name := range engine.Names() {
		e := row(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, yes, no := fleet.NewCluster([]fleet.Node{node(h200)}), 0, 0
			for n, of := range model.Families() {
				if n%every(4) != 0 {
					continue
				}
				m := lookup(t, of)
				for i, d := range degrees(&m.Architecture) {
					// A few models are more than a device can be said to have: there memory would decide.
					if ranks := max(d[0], d[3]) * d[1]; m.WeightBytes(v1alpha1.BF16) > int64(ranks)*roomy<<20*4/5 {
						continue
					}
					for _, job := range jobs(i) {
						if ask(t, &question{e, m, v1alpha1.BF16, h200, d[0], d[1], d[2], d[3], job}, cluster) {
							yes++
						} else {
							no++
						}
					}
				}
			}
			if jobs(0)[0] != nil && e.Runs(engine.Device{}, engine.Training, "", nil) != nil {
				if yes > 0 {
					t.Errorf("%d questions are answered by yes, and the engine trains no models", yes)
				}
			} else if yes < 500 || no < 500 {
				t.Errorf("%d questions are answered by yes and %d by no: both must be many", yes, no)
			}
		})
	}
}

// everyProduct asks about every engine on every product of the catalogue that has memory of its own and on which an estimate
// can be made for the usual engine: with the usual question's job and as many data ranks, on a few tensor ranks.
func everyProduct(t *testing.T, usual question, data int, estimated func(*question) error, ask asking) {
	t.Helper()
	refused, products := 0, 0
	for _, p := range accelerator.Products() {
		usual.product = &p
		if err := estimated(&usual); err != nil || p.Family == v1alpha1.FamilyCPU {
			continue
		}
		products++
		cluster := fleet.NewCluster([]fleet.Node{node(&p)})
		for _, name := range engine.Names() {
			for _, tensor := range []int{1, 2, 3} {
				q := usual
				q.engine, q.tensor, q.data = row(t, name), tensor, data
				if !ask(t, &q, cluster) && tensor < 3 {
					refused++
				}
			}
		}
	}
	if products < 50 || refused == 0 {
		t.Errorf("%d products, %d refusals of an engine on a device", products, refused)
	}
}

// TestEveryModelInEveryDegree asks whether models are served.
func TestEveryModelInEveryDegree(t *testing.T) {
	everyModel(t, degreesOf, func(int) []*v1alpha1.TrainingWorkload { return []*v1alpha1.TrainingWorkload{nil} }, agreed)
}

// agreed asks all about a question and returns their answer.
func agreed(t *testing.T, q *question, cluster *fleet.Cluster) bool {
	t.Helper()
	guess, estimated := q.estimate()
	if estimated == nil && guess.Degrees.Expert != q.expert {
		return true // it spreads experts as nobody asked: another question, which is asked with its own degree
	}
	plan, planned := q.plan(cluster)
	exported := q.export()
	// Whether a checkpoint's blocks are cut is not in a plan, so its export cannot know.
	blocks := q.model.BlockSide(q.weights) > 1
	if (estimated == nil) != (planned == nil) || !blocks && (estimated == nil) != (exported == nil) {
		t.Errorf("%s:\n estimate %v\n plan     %v\n export   %v", q, estimated, planned, exported)
	}
	if estimated == nil && planned == nil {
		sameNumbers(t, q, guess, plan)
	}
	return estimated == nil
}

// sameNumbers holds an estimate to the plan of the same shape: the bytes of every stage, and, where the product's own link joins
// the devices as on the node of a question, the times.
func sameNumbers(t *testing.T, q *question, got *estimate.Answer, plan *v1alpha1.ShardingPlanSpec) {
	t.Helper()
	var bytes, planned []int64
	for i := range got.Stages {
		bytes = append(bytes, got.Stages[i].Memory.Total)
	}
	for i := range plan.Stages {
		planned = append(planned, plan.Stages[i].PerDevice.TotalBytes)
	}
	if !slices.Equal(bytes, planned) {
		t.Errorf("%s: a device of each stage holds %d bytes in estimate and %d in plan", q, bytes, planned)
	}
	if got.KV != plan.KVCacheType {
		t.Errorf("%s: the cache is in %s in estimate and in %s in plan", q, got.KV, plan.KVCacheType)
	}
	if plan.Estimate == nil || !q.product.Switched() {
		return
	}
	ttft, tpot := *got.TTFTMillis, *got.TPOTMillis*1e3
	if math.Abs(ttft-float64(plan.Estimate.TTFTMillis.Value)) > 0.51+ttft/1e3 || math.Abs(tpot-float64(plan.Estimate.TPOTMicros.Value)) > 0.51+tpot/1e3 {
		t.Errorf("%s: TTFT %.1f ms and TPOT %.0f µs in estimate, %d ms and %d µs in plan", q, ttft, tpot, plan.Estimate.TTFTMillis.Value, plan.Estimate.TPOTMicros.Value)
	}
}

// TestFormatsOnEveryDevice asks in which formats each serving engine runs on each product.
func TestFormatsOnEveryDevice(t *testing.T) {
	m, yes, no := lookup(t, "Llama-3.1-8B"), 0, 0
	for _, p := range accelerator.Products() {
		if of := (question{product: &p}); p.MemoryMiB == 0 || !of.computes(v1alpha1.FP16) { // no estimate can be made
			continue
		}
		cluster := fleet.NewCluster([]fleet.Node{node(&p)})
		for _, name := range []string{"vLLM", "SGLang", "TensorRT-LLM"} {
			for _, weights := range estimate.Precisions {
				if agreed(t, &question{row(t, name), m, weights, &p, 1, 1, 1, 1, nil}, cluster) {
					yes++
				} else {
					no++
				}
			}
		}
	}
	if yes < 500 || no < 500 {
		t.Errorf("%d formats run and %d do not: both must be many", yes, no)
	}
}

// TestPublishedWeights asks about weights as checkpoints store them, in blocks among them.
func TestPublishedWeights(t *testing.T) {
	h200 := product(t, "NVIDIA H200")
	for _, name := range []string{"vLLM", "SGLang", "TensorRT-LLM"} {
		e := row(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, blocks := fleet.NewCluster([]fleet.Node{node(h200)}), 0
			for n, of := range model.Names() {
				if n%every(4) != 0 {
					continue
				}
				m := lookup(t, of)
				if m.Native == v1alpha1.BF16 {
					continue
				}
				if m.BlockSide(m.Native) > 1 {
					blocks++
				}
				for _, d := range degreesOf(&m.Architecture) {
					agreed(t, &question{e, m, m.Native, h200, d[0], d[1], d[2], d[3], nil}, cluster)
				}
			}
			if blocks < 3 {
				t.Errorf("%d models are stored in blocks", blocks)
			}
		})
	}
}

// TestEveryDevice asks whether a model is served.
func TestEveryDevice(t *testing.T) {
	usual := question{row(t, string(engine.Default)), lookup(t, "Llama-3.1-8B"), v1alpha1.FP16, nil, 1, 1, 1, 1, nil}
	everyProduct(t, usual, 1, func(q *question) error {
		_, err := q.estimate()
		return err
	}, agreed)
}

// TestCostOffersWhatPlansRun holds the shapes that `kubectl rankwright cost` offers to plans: each runs in its degrees, and
// of a product on which plans refuse the engine none is offered.
func TestCostOffersWhatPlansRun(t *testing.T) {
	table, err := price.Load()
	if err != nil {
		t.Fatal(err)
	}
	offered, none := 0, 0
	for _, of := range []string{"Llama-3.1-8B", "Qwen3-30B-A3B"} {
		m := lookup(t, of)
		for _, device := range []string{"NVIDIA H100 80GB HBM3", "MI300X"} {
			p := product(t, device)
			cluster := fleet.NewCluster([]fleet.Node{node(p)})
			for _, name := range engine.Names() {
				e := row(t, name)
				on, err := estimate.FindEngine(name)
				if err != nil {
					t.Fatal(err)
				}
				serving := estimate.Serving{
					Deployment: estimate.Deployment{Model: m, Engine: on, Weights: v1alpha1.BF16},
					Load:       estimate.Load{Input: 512, Output: 512},
				}
				got, err := estimate.Cheapest(estimate.Renting{Serving: serving, Product: p.Name}, table)
				if err != nil {
					t.Fatal(err)
				}
				for i := range got.Offers {
					if kv := got.Offers[i].Answer.KV; kv != v1alpha1.BF16 {
						t.Errorf("%s for %s is offered with a cache in %s", device, name, kv)
					}
					d := got.Offers[i].Answer.Degrees
					q := question{e, m, v1alpha1.BF16, p, d.Tensor, d.Pipeline, d.AttentionData, d.Expert, nil}
					if _, err := q.plan(cluster); err != nil {
						t.Errorf("%s is offered: %v", &q, err)
					}
				}
				alone := question{e, m, v1alpha1.BF16, p, 1, 1, 1, 1, nil}
				if _, err := alone.plan(cluster); (err == nil) != (len(got.Offers) > 0) {
					t.Errorf("%s: planned %v, and %d shapes are offered", &alone, err, len(got.Offers))
				}
				if offered += len(got.Offers); len(got.Offers) == 0 {
					none++
				}
			}
		}
	}
	if offered == 0 || none == 0 {
		t.Errorf("%d shapes are offered, and in %d cases none: both must be some", offered, none)
	}
}
