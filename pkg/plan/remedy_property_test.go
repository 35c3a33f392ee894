package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/remedy"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// drawHeld is a small cluster whose devices are free or held by some placements.
func drawHeld(t *rapid.T) []fleet.Node {
	var nodes []fleet.Node
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		p := rapid.SampledFrom([]plantest.Product{plantest.L40s, plantest.L40s, plantest.H100, plantest.T4, plantest.Mi300x}).Draw(t, "product")
		n := plantest.Host(fmt.Sprint("n", i), rapid.Bool().Draw(t, "linked"), plantest.Many(rapid.IntRange(1, 4).Draw(t, "devices"), p)...)
		n.Labels["rack"] = rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rack")
		n.Taken = map[v1alpha1.DeviceID]string{}
		for j := range n.Inventory.Status.Devices {
			d := &n.Inventory.Status.Devices[j]
			if h := rapid.SampledFrom([]string{"-", "-", "-", "", "models/a", "models/b", "models/c"}).Draw(t, "holder"); h != "-" {
				n.Taken[d.ID] = h
			}
			d.Memory.UsedByOthersMiB = rapid.SampledFrom([]int64{0, 0, 0, 3000}).Draw(t, "used")
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// drawTight is a request that a small cluster may be too small for.
func drawTight(t *testing.T, rt *rapid.T) shape.Request {
	m := plantest.Llama(t, rapid.SampledFrom([]int{8, 70}).Draw(rt, "billions"))
	r := ask(m, rapid.SampledFrom([]int32{4096, 30000, 131072}).Draw(rt, "length"), rapid.SampledFrom([]int32{1, 3, 40, 700}).Draw(rt, "sequences"))
	s := &r.Placement.Spec
	s.Quantization = v1alpha1.Quantization(rapid.SampledFrom([]string{"Auto", "Auto", "BF16", "FP8", "INT4"}).Draw(rt, "quantization"))
	s.KVCacheType = v1alpha1.KVCacheType(rapid.SampledFrom([]string{"", "", "FP8"}).Draw(rt, "cache"))
	s.Replicas = plantest.Ptr(rapid.SampledFrom([]int32{1, 1, 2, 5}).Draw(rt, "replicas"))
	switch rapid.IntRange(0, 9).Draw(rt, "more") {
	case 0, 1:
		s.Topology = &v1alpha1.TopologyRequirements{Required: plantest.Ptr(rapid.SampledFrom([]string{"rack", "kubernetes.io/hostname"}).Draw(rt, "level"))}
	case 2, 3:
		s.Parallelism = &v1alpha1.Parallelism{Tensor: plantest.Ptr(rapid.SampledFrom([]int32{1, 2, 4}).Draw(rt, "tensor")), Pipeline: plantest.Ptr(int32(1))}
	case 4:
		s.Workload.Inference.MaxTPOTMillis = plantest.Ptr(rapid.SampledFrom([]int32{1, 5, 20}).Draw(rt, "tpot"))
	case 5:
		s.Workload.Inference.MaxTPOTMillis, s.Workload.Inference.MaxTTFTMillis = plantest.Ptr(int32(8)), plantest.Ptr(rapid.SampledFrom([]int32{10, 900}).Draw(rt, "ttft"))
	case 6, 7:
		s.Quantization = "Auto"
		s.Workload = v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{
			Method: rapid.SampledFrom([]v1alpha1.TrainingMethod{"LoRA", "Full"}).Draw(rt, "method"), SequenceLength: rapid.SampledFrom([]int32{2048, 16384}).Draw(rt, "length"),
			GlobalBatch: 16, MicroBatch: rapid.SampledFrom([]int32{1, 4, 16}).Draw(rt, "micro"),
		}}
		s.Engine = v1alpha1.EngineTorch
	}
	if load := rapid.SampledFrom([]int32{0, 0, 1, 5, 40, 300, 2000}).Draw(rt, "together"); load > 0 && s.Workload.Inference != nil {
		plantest.Together(load)(s)
		if rapid.Bool().Draw(rt, "open") {
			s.Replicas = nil
		}
	}
	if in := s.Workload.Inference; in != nil && rapid.Bool().Draw(rt, "lengths") {
		lengths(in.MaxModelLen/8, in.MaxModelLen/rapid.SampledFrom([]int32{2, 4, 16}).Draw(rt, "answers"))(s)
		varying(rapid.SampledFrom([]int32{0, 30, 100, 250}).Draw(rt, "variation"))(s)
	}
	return r
}

// following returns a request as whoever follows a suggestion writes it: its edits merged into the JSON of the placement, which then has
// no field that the API does not know.
func following(t require, r shape.Request, s *v1alpha1.Suggestion) shape.Request {
	text, err := json.Marshal(r.Placement)
	for _, e := range s.Edits {
		patch := e.Value
		for _, key := range slices.Backward(strings.Split(e.Path, ".")) {
			patch = fmt.Sprintf("{%q: %s}", key, patch)
		}
		if err == nil {
			text, err = jsonpatch.MergePatch(text, []byte(patch))
		}
	}
	placement := &v1alpha1.ModelPlacement{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err == nil {
		err = decoder.Decode(placement)
	}
	if err != nil {
		t.Fatalf("%s, by %+v: %v", s.Change, s.Edits, err)
	}
	r.Placement = placement
	return r
}

// require is what ends a test or one case of it.
type require interface {
	Fatalf(format string, args ...any)
}

func edited(r shape.Request, change shape.Edit) shape.Request {
	placement := r.Placement.DeepCopy()
	change(&placement.Spec)
	r.Placement = placement
	return r
}

// Every suggestion that is followed makes the request fit, and is no larger than needed.
func TestSuggestionsHelpAndAreTheLeast(t *testing.T) {
	kinds := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		nodes, r := drawHeld(rt), drawTight(t, rt)
		c := fleet.NewCluster(nodes)
		_, err := Plan(c, r)
		var no *Unplaceable
		if !errors.As(err, &no) {
			return
		}
		for i := range no.remedies {
			found := &no.remedies[i]
			kinds[found.Kind]++
			said := &no.Shortfall.Suggestions[i]
			if (found.Edit != nil) != (len(said.Edits) > 0) || said.Kind != found.Kind {
				rt.Fatalf("%s: %s is said as %+v", found.Kind, found.Change, said)
			}
			if found.Edit != nil {
				changed := following(rt, r, said)
				spec, err := Plan(c, changed)
				if err != nil {
					rt.Fatalf("%s: %s, and yet: %v", found.Kind, found.Change, err)
				}
				checkPlan(rt, nodes, changed, spec)
			} else if _, err := Plan(found.Cluster, r); err != nil {
				rt.Fatalf("%s: %s, and yet: %v", found.Kind, found.Change, err)
			}
			if less := lessThan(c, r, found); less != "" {
				rt.Fatalf("%s: %s, but %s is enough", found.Kind, found.Change, less)
			}
		}
	})
	t.Log(kinds)
}

// everyNumber is how many copies a load that they share is looked at in without leaving any number out.
const everyNumber = 32

// lessThan is a change that is smaller by one step than a remedy and fits as well; empty where there is none.
func lessThan(c *fleet.Cluster, r shape.Request, found *remedy.Remedy) string {
	var n, now int32
	try := func(text string, change shape.Edit) string {
		if _, err := Plan(c, edited(r, change)); err == nil {
			return text
		}
		return ""
	}
	in, training := r.Placement.Spec.Workload.Inference, r.Placement.Spec.Workload.Training
	var of string
	switch fields := strings.Fields(found.Change); found.Kind {
	case remedy.KindContext:
		_, _ = fmt.Sscanf(found.Change, "%s %d instead of %d", &of, &n, &now)
		if n += remedy.ContextStep; n >= now {
			return ""
		}
		return try(fmt.Sprint("context ", n), func(s *plantest.Spec) {
			if training != nil {
				s.Workload.Training.SequenceLength = n
				return
			}
			s.Workload.Inference.MaxModelLen = n
		})
	case remedy.KindSequences:
		_, _ = fmt.Sscanf(found.Change, "%s %d instead of %d", &of, &n, &now)
		if n+1 == now {
			return ""
		}
		if of == "totalSequences" {
			return try(fmt.Sprint(of, n+1), plantest.Together(n+1))
		}
		return try(fmt.Sprint(of, n+1), func(s *plantest.Spec) { s.Workload.Inference.MaxSequences = n + 1 })
	case remedy.KindCopies:
		_, _ = fmt.Sscanf(found.Change, "replicas %d", &n)
		if n+1 == *r.Placement.Spec.Replicas || in != nil && in.TotalSequences > 0 {
			return ""
		}
		return try(fmt.Sprint("replicas ", n+1), plantest.Replicas(n+1))
	case remedy.KindBatch:
		_, _ = fmt.Sscanf(found.Change, "microBatch %d", &n)
		if n *= 2; n >= training.MicroBatch {
			return ""
		}
		return try(fmt.Sprint("microBatch ", n), func(s *plantest.Spec) { s.Workload.Training.MicroBatch = n })
	case remedy.KindLimit:
		if slices.Contains(fields, "and") {
			return ""
		}
		_, _ = fmt.Sscanf(found.Change, "%s %d", &of, &n)
		return try(fmt.Sprint(of, n-1), func(s *plantest.Spec) {
			if of == "maxTTFTMillis" {
				s.Workload.Inference.MaxTTFTMillis = plantest.Ptr(n - 1)
				return
			}
			s.Workload.Inference.MaxTPOTMillis = plantest.Ptr(n - 1)
		})
	case remedy.KindDevices:
		less := *found.More
		if r.Placement.Spec.Replicas == nil && less.Devices > everyNumber {
			return "" // not every number of so many copies is looked at
		}
		t, err := shape.New(c, r)
		if err != nil {
			return err.Error()
		}
		if _, err := Plan(remedy.Extend(t, less.Template, less.Devices-1, less.InPlace), r); err == nil {
			return fmt.Sprint(less.Devices-1, " devices")
		}
	case remedy.KindMove:
		return fewerMoves(c, r, found)
	}
	return ""
}

// fewerMoves is a holder that could stay, or one that alone is enough where several are named.
func fewerMoves(c *fleet.Cluster, r shape.Request, found *remedy.Remedy) string {
	var moved []string
	names := holdersOf(c)
	for _, name := range names {
		if strings.Contains(found.Change, name+" (") {
			moved = append(moved, name)
		}
	}
	if len(moved) < 2 {
		return ""
	}
	for _, name := range names {
		if _, err := Plan(c.Without(name), r); err == nil {
			return "moving " + name
		}
	}
	return ""
}

// holdersOf are the placements that could move.
func holdersOf(c *fleet.Cluster) []string {
	held := map[string]bool{}
	for _, n := range c.Nodes() {
		for i := range n.Devices {
			if n.Devices[i].Movable() {
				held[n.Devices[i].Holder] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(held))
}

// What is suggested does not depend on the order in which nodes and devices are listed.
func TestSuggestionsDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes, r := drawHeld(rt), drawTight(t, rt)
		_, first := Plan(fleet.NewCluster(nodes), r)
		order := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		order.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		for _, n := range nodes {
			devices := n.Inventory.Status.Devices
			order.Shuffle(len(devices), func(i, j int) { devices[i], devices[j] = devices[j], devices[i] })
		}
		_, second := Plan(fleet.NewCluster(nodes), r)
		if a, b := refusalText(first), refusalText(second); a != b {
			rt.Fatalf("got %s, and in another order %s", a, b)
		}
	})
}

func refusalText(err error) string {
	raw, _ := json.Marshal(err)
	return fmt.Sprint(err) + string(raw)
}

// Looking for any plan finds one exactly where the search for the best one does.
func TestFitsIsSearch(t *testing.T) {
	fit := map[bool]int{}
	rapid.Check(t, func(rt *rapid.T) {
		one, err := shape.New(fleet.NewCluster(drawHeld(rt)), drawTight(t, rt))
		if err != nil {
			rt.Skip(err)
		}
		found, _ := search.Best(one)
		if fits := search.Fits(one.On(one.Cluster)); fits != (found != nil) {
			rt.Fatalf("fits says %v, search found %+v", fits, found)
		}
		fit[found != nil]++
	})
	if fit[true] == 0 || fit[false] == 0 {
		t.Errorf("only one answer was tested: %v", fit)
	}
}
