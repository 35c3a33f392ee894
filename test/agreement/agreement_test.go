package agreement

import (
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

// TestEveryModelInEveryDegree asks about every engine, model and degree on one product.
func TestEveryModelInEveryDegree(t *testing.T) {
	h200 := product(t, "NVIDIA H200")
	for _, name := range engine.Names() {
		e := row(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, yes, no := fleet.NewCluster([]fleet.Node{node(h200)}), 0, 0
			for _, of := range model.Names() {
				m := lookup(t, of)
				for _, d := range degreesOf(&m.Architecture) {
					if agreed(t, &question{e, m, v1alpha1.BF16, h200, d[0], d[1], d[2], d[3], nil}, cluster) {
						yes++
					} else {
						no++
					}
				}
			}
			if yes < 500 || no < 500 {
				t.Errorf("%d questions are answered by yes and %d by no: both must be many", yes, no)
			}
		})
	}
}

// agreed asks all about a question and returns their answer.
func agreed(t *testing.T, q *question, cluster *fleet.Cluster) bool {
	t.Helper()
	spread, estimated := q.estimate()
	if spread {
		return true // it answers another question, which is asked with its own degree
	}
	_, planned := q.plan(cluster)
	exported := q.export()
	// Whether a checkpoint's blocks are cut is not in a plan, so its export cannot know.
	blocks := q.model.BlockSide(q.weights) > 1
	if (estimated == nil) != (planned == nil) || !blocks && (estimated == nil) != (exported == nil) {
		t.Errorf("%s:\n estimate %v\n plan     %v\n export   %v", q, estimated, planned, exported)
	}
	return estimated == nil
}

// TestPublishedWeights asks about weights as checkpoints store them, in blocks among them.
func TestPublishedWeights(t *testing.T) {
	h200 := product(t, "NVIDIA H200")
	for _, name := range []string{"vLLM", "SGLang", "TensorRT-LLM"} {
		e := row(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, blocks := fleet.NewCluster([]fleet.Node{node(h200)}), 0
			for _, of := range model.Names() {
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

// TestEveryDevice asks about every engine on every product of the catalogue that has memory of its own and rates by which
// an estimate can be made.
func TestEveryDevice(t *testing.T) {
	m := lookup(t, "Llama-3.1-8B")
	refused, products := 0, 0
	for _, p := range accelerator.Products() {
		usual := question{row(t, string(engine.Default)), m, v1alpha1.FP16, &p, 1, 1, 1, 1, nil}
		if _, err := usual.estimate(); err != nil || p.Family == v1alpha1.FamilyCPU {
			continue
		}
		products++
		cluster := fleet.NewCluster([]fleet.Node{node(&p)})
		for _, name := range engine.Names() {
			for _, tensor := range []int{1, 2, 3} {
				if !agreed(t, &question{row(t, name), m, v1alpha1.FP16, &p, tensor, 1, 1, 1, nil}, cluster) && tensor < 3 {
					refused++
				}
			}
		}
	}
	if products < 50 || refused == 0 {
		t.Errorf("%d products, %d refusals of an engine on a device", products, refused)
	}
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
					Deployment: estimate.Deployment{Model: m, Engine: on, Weights: v1alpha1.BF16, KV: v1alpha1.BF16},
					Load:       estimate.Load{Input: 512, Output: 512},
				}
				got, err := estimate.Cheapest(estimate.Renting{Serving: serving, Product: p.Name}, table)
				if err != nil {
					t.Fatal(err)
				}
				for i := range got.Offers {
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
