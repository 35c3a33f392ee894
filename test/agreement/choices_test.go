package agreement

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/document"
	"github.com/rankwright/rankwright/test/figure"
	"github.com/rankwright/rankwright/test/plantest"
)

var update = flag.Bool("update", false, "write tables of documents anew")

// The load of a comparison, since recipes name none: the middle one of those at which InferenceX measures.
const (
	loadInput     = 1024
	loadOutput    = 1024
	loadSequences = 64
)

// choice is a command of a recipe on one kind of hardware, which the planner gets the devices of and is left free.
type choice struct {
	recipe    string
	command   command
	model     *model.Model
	weights   v1alpha1.Precision
	product   *accelerator.Product
	length    int32
	objective v1alpha1.Objective
}

func (c *choice) String() string {
	return fmt.Sprintf("%s in %s on %d × %s, %s", c.recipe, c.weights, c.devices(), c.product.Name, c.objective)
}

func (c *choice) devices() int {
	return max(1, c.command.Tensor) * max(1, c.command.Pipeline) * max(1, c.command.Data)
}

// headings are words of headings for the hardware that a command is for.
var headings = map[string][]string{
	"H100": {"h100"}, "H200": {"h200"}, "H20": {"h20"}, "A100": {"a100"}, "GB200": {"gb200"}, "B200": {"b200"}, "B300": {"b300"}, "GB300": {"gb300"},
	"MI300X": {"mi300x"}, "MI325X": {"mi325x"}, "MI350X": {"mi350x"}, "MI355X": {"mi355x"}, "TRILLIUM": {"trillium"},
	"BLACKWELL": {"b200", "b300", "gb200", "gb300"}, "SM90": {"h100", "h200", "h20"}, "SM100": {"b200", "b300"},
	"CUDA": {"a100", "h100", "h200", "h20", "b200", "b300", "gb200", "gb300"}, "NVIDIA": {"a100", "h100", "h200", "h20", "b200", "b300", "gb200", "gb300"},
	"ROCM": {"mi300x", "mi325x", "mi350x", "mi355x"}, "AMD": {"mi300x", "mi325x", "mi350x", "mi355x"},
}

// tpus are the words of products that a heading for GPUs does not mean.
var tpus = map[string]bool{"trillium": true, "ironwood": true}

var (
	word   = regexp.MustCompile(`[A-Z]+\d*[A-Z]*`)
	degree = regexp.MustCompile(`TP=(\d+)`)
)

// hardwareOf returns what a command is for: the devices that its heading names, else those for which the recipe is verified; in both cases only
// verified ones where there are such.
func (r *recipe) hardwareOf(c *command) []string {
	verified := func(name string) bool {
		return r.Hardware[name] == "verified" && c.devices() <= cmp.Or(sizes[name], c.devices())
	}
	named := map[string]bool{}
	for _, w := range word.FindAllString(strings.ToUpper(c.Under), -1) {
		for _, name := range headings[w] {
			named[name] = true
		}
	}
	all := slices.Sorted(maps.Keys(products))
	if len(named) == 0 {
		gpus := strings.Contains(c.Under, "GPU")
		return slices.DeleteFunc(all, func(name string) bool { return !verified(name) || gpus && tpus[name] })
	}
	all = slices.DeleteFunc(all, func(name string) bool { return !named[name] })
	if both := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !verified(name) }); len(both) > 0 {
		return both
	}
	return all
}

// objectives are what a command's heading says that it is for; both where it says nothing.
func (c *command) objectives() []v1alpha1.Objective {
	under := strings.ToLower(c.Under)
	switch {
	case strings.Contains(under, "latency"):
		return []v1alpha1.Objective{v1alpha1.ObjectiveLatency}
	case strings.Contains(under, "throughput"):
		return []v1alpha1.Objective{v1alpha1.ObjectiveThroughput}
	}
	return []v1alpha1.Objective{v1alpha1.ObjectiveThroughput, v1alpha1.ObjectiveLatency}
}

// choices are the commands of recipes of models and hardware that the catalogues have, each once.
func choices(t *testing.T) []choice {
	t.Helper()
	var list []choice
	seen := map[string]bool{}
	for _, r := range recipes(t) {
		for _, c := range r.Commands {
			m, weights, err := model.Find(cmp.Or(c.Checkpoint, r.Model))
			if err != nil || m.Architecture.MaxContext < 2*loadInput {
				continue
			}
			if found := degree.FindStringSubmatch(c.Under); found != nil && c.Tensor == 0 {
				c.Tensor, _ = strconv.Atoi(found[1])
			}
			of := r.of(c.Checkpoint)
			for _, hardware := range r.hardwareOf(&c) {
				if !of.names(hardware) || !c.holds(of, product(t, products[hardware])) {
					continue
				}
				for _, objective := range c.objectives() {
					made := choice{
						recipe: cmp.Or(c.Checkpoint, r.Model), command: c, model: m, weights: weights, product: product(t, products[hardware]), objective: objective,
					}
					made.length = made.longest(&r)
					key := fmt.Sprint(&made, c.Tensor, c.Pipeline, c.Data, c.DecodeContext, c.Experts, c.Cache, made.length, strings.Contains(c.Under, "MTP"))
					if !seen[key] {
						seen[key] = true
						list = append(list, made)
					}
				}
			}
		}
	}
	return list
}

// holds says whether the devices of a command have the memory that the recipe says its checkpoint needs, once for each copy, in the nine tenths that
// engines take of it. Where a command leaves
// its devices to the reader, or is for others of those that are verified, they have not.
func (c *command) holds(of *variant, p *accelerator.Product) bool {
	if p.DevicesPerNode > 0 && p.Domain != accelerator.Racked && c.Tensor > p.DevicesPerNode {
		return false // the planner keeps tensor ranks within a node where no fabric joins nodes
	}
	copies := int64(max(1, c.Data))
	if c.Experts {
		copies = 1
	}
	devices := int64(c.devices())
	return copies*of.Memory*1_000_000_000 <= devices*(p.UsableMiB()<<20)*9/10
}

// longest is the command's longest sequence; where it names none, the longest of a few with which its devices hold one request, since recipes
// leave that to the engine and to who reads them.
func (c *choice) longest(r *recipe) int32 {
	if c.command.Length > 0 {
		return max(c.command.Length, loadInput+loadOutput)
	}
	for _, length := range []int32{131072, 32768, 8192} {
		if c.length = min(length, max(r.Context, loadInput+loadOutput), c.model.Architecture.MaxContext); c.length > 0 {
			if _, err := c.plan(1, nil, ""); err == nil {
				return c.length
			}
		}
	}
	return c.length
}

// served are nodes with so many devices of a product, with its memory and links.
func served(p *accelerator.Product, devices int) []fleet.Node {
	each := min(devices, cmp.Or(p.DevicesPerNode, devices))
	var nodes []fleet.Node
	for i := range (devices + each - 1) / each {
		n := node(p)
		n.Name, n.Address = fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1)
		status := &n.Inventory.Status
		status.Devices = status.Devices[:each]
		for j := range status.Devices {
			status.Devices[j].Memory.TotalMiB = p.UsableMiB()
		}
		domain := &status.Links.Domains[0]
		domain.Members = domain.Members[:each]
		domain.Kind, domain.Generation, domain.DeviceMBps, domain.PeerMBps = p.LinkKind, p.LinkGeneration, p.LinkMBps, p.PeerMBps()
		switch {
		case p.Domain == accelerator.Racked:
			domain.Fabric = &v1alpha1.Fabric{ClusterUUID: "rack", CliqueID: "1"}
		case p.Domain == accelerator.Switched:
		case p.Domain == accelerator.Meshed:
			domain.Topology = v1alpha1.TopologyMesh
		case p.Family == v1alpha1.FamilyTPU && each%2 == 0:
			domain.Topology, domain.Shape = v1alpha1.TopologyTorus, []int32{2, int32(each / 2)}
		default:
			status.Links.Domains = nil
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// degrees are those of the command.
func (c *choice) degrees() *v1alpha1.Parallelism {
	tensor, pipeline, data, expert := max(1, c.command.Tensor), max(1, c.command.Pipeline), max(1, c.command.Data), 1
	if c.command.Experts {
		expert = tensor * data
	}
	return &v1alpha1.Parallelism{
		Tensor: new(int32(tensor)), Pipeline: new(int32(pipeline)), Data: new(int32(data)), Expert: new(int32(expert)), Context: new(int32(1)),
	}
}

// plan plans a choice for so many requests at once in some degrees, which are nil where they are left to the planner, with the command's cache, or,
// where that says nothing, in the format that is given.
func (c *choice) plan(sequences int32, in *v1alpha1.Parallelism, cache v1alpha1.Precision) (*v1alpha1.ShardingPlanSpec, error) {
	p := plantest.Placement(c.length, sequences, plantest.Format(v1alpha1.Quantization(c.weights)))
	w := p.Spec.Workload.Inference
	w.Objective, w.InputTokens, w.OutputTokens = c.objective, new(int32(loadInput)), new(int32(loadOutput))
	switch p.Spec.Parallelism = in; {
	case strings.HasPrefix(c.command.Cache, "fp8"):
		cache = v1alpha1.FP8
	case c.command.Cache == "bfloat16":
		cache = v1alpha1.BF16
	}
	if cache != "" {
		p.Spec.KVCacheType = v1alpha1.KVCacheType(cache)
	}
	return plan.Plan(fleet.NewCluster(served(c.product, c.devices())), shape.Request{Placement: p, Model: c.model})
}

// value is what a plan is judged by, the more the better, with the ends of its range: tokens per second from each device, or answers per
// hour of one request after another.
func value(p *v1alpha1.ShardingPlanSpec, objective v1alpha1.Objective) (middle, low, high float64) {
	e := p.Estimate
	if objective == v1alpha1.ObjectiveLatency {
		answers := func(ttft, tpot int64) float64 { return 3600e6 / (1e3*float64(ttft) + (loadOutput-1)*float64(tpot)) }
		return answers(e.TTFTMillis.Value, e.TPOTMicros.Value), answers(e.TTFTMillis.High, e.TPOTMicros.High), answers(e.TTFTMillis.Low, e.TPOTMicros.Low)
	}
	devices := float64(devicesOf(&p.Strategy))
	return float64(e.TokensPerSecond.Value) / devices, float64(e.TokensPerSecond.Low) / devices, float64(e.TokensPerSecond.High) / devices
}

func devicesOf(s *v1alpha1.Strategy) int { return int(s.Tensor * s.Pipeline * s.Data) }

// sameShape says whether two plans have the same degrees.
func sameShape(a, b *v1alpha1.Strategy) bool {
	return a.Tensor == b.Tensor && a.Pipeline == b.Pipeline && a.Data == b.Data && (a.Expert > 1) == (b.Expert > 1)
}

// TestRecipesChoices leaves to the planner what vLLM's recipes run: the model in the format of the checkpoint, on as many devices as the command takes, with
// its longest sequence. Where another shape is chosen there is a reason: a measured row, the estimates of both, or that the recipe's does not hold the load.
func TestRecipesChoices(t *testing.T) {
	rows, list := measuredRows(t), choices(t)
	var outcomes []outcome
	for i := range list {
		outcomes = append(outcomes, list[i].compare(t, rows))
	}
	placeElsewhere(outcomes)
	for i := range outcomes {
		o := &outcomes[i]
		t.Logf("%s", o)
		if noReason[o.reason] {
			t.Errorf("%s", o)
		}
	}
	const least = 200
	counts, reasoned := countsOf(outcomes), 0
	for _, r := range reasons {
		for _, objective := range objectives {
			n := counts[r][objective]
			if !noReason[r] {
				reasoned += n
			}
			if n > 0 {
				figure.Report("choices beside vLLM's recipes", fmt.Sprintf("%s: %s", objective, r), fmt.Sprint(n)).Hold(t)
			}
		}
	}
	figure.All("choices beside vLLM's recipes", "the recipe's, or another with a reason", reasoned, len(outcomes), least).Hold(t)
	if len(recipes(t)) != documented {
		return
	}
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	document.Table(t, filepath.Join(root, "docs", "planner.md"), tableOf(outcomes), *update)
}

// documented is the number of the recipes that docs/planner.md speaks of.
const documented = 82

var objectives = []v1alpha1.Objective{v1alpha1.ObjectiveThroughput, v1alpha1.ObjectiveLatency}

func countsOf(outcomes []outcome) map[reason]map[v1alpha1.Objective]int {
	counts := map[reason]map[v1alpha1.Objective]int{}
	for i := range outcomes {
		o := &outcomes[i]
		if counts[o.reason] == nil {
			counts[o.reason] = map[v1alpha1.Objective]int{}
		}
		counts[o.reason][o.objective]++
	}
	return counts
}

// tableOf counts outcomes by their reasons, and lists the largest difference of each model and vendor of the models where it is the largest.
func tableOf(outcomes []outcome) string {
	var b strings.Builder
	b.WriteString("| the planner's choice | Throughput | Latency |\n| --- | --- | --- |\n")
	counts := countsOf(outcomes)
	for _, r := range reasons {
		if c := counts[r]; len(c) > 0 {
			fmt.Fprintf(&b, "| %s | %d | %d |\n", r, c[v1alpha1.ObjectiveThroughput], c[v1alpha1.ObjectiveLatency])
		}
	}
	b.WriteString("\nThe largest differences, by the estimate, one of each model:\n\n")
	b.WriteString("| model | devices of the command | objective | recipe | planner | estimates |\n| --- | --- | --- | --- | --- | --- |\n")
	sorted := slices.Clone(outcomes)
	slices.SortStableFunc(sorted, func(x, y outcome) int { return cmp.Compare(y.gain, x.gain) })
	seen := map[string]bool{}
	const largest = 8
	for i := range sorted {
		o := &sorted[i]
		if name := o.recipe + string(o.objective); !seen[name] && len(seen) < largest && o.reason != asRecipe {
			seen[name] = true
			fmt.Fprintf(&b, "| %s in %s | %d × %s | %s | %s | %s | %.0f and %.0f %s |\n", o.recipe, o.weights, o.devices(), o.product.Name, o.objective, o.theirs, o.ours, o.values[1], o.values[0], units[o.objective])
		}
	}
	return b.String()
}
