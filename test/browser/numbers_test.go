package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/holding"
)

// number is a number as the page shows it.
type number struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Text  string  `json:"text"`
}

// numbers reads every number of a part of the page.
func (b *tab) numbers(part string) []number {
	b.Helper()
	return get[[]number](b, `[...document.querySelectorAll('`+part+` data')].map((d) => ({ name: d.dataset.n, value: Number(d.value), text: d.textContent }))`)
}

// loose finds texts with digits that are no number of the page: such as are neither names nor what the API says in words.
func (b *tab) loose(part string) []string {
	b.Helper()
	return get[[]string](b, `(() => {
		const found = [], walk = document.createTreeWalker(document.querySelector('`+part+`'), NodeFilter.SHOW_TEXT);
		while (walk.nextNode()) {
			const node = walk.currentNode;
			if (/\d/.test(node.nodeValue) && !node.parentElement.closest('data, code, option, .words, .name, h2, [hidden]')) found.push(node.nodeValue);
		}
		return found;
	})()`)
}

// world is what the page says and what the commands print, of the same files.
type world struct {
	*testing.T

	state *holding.State
	fleet *holding.Fleet
	files []string
}

// written writes the small fleet into files, as somebody would who saves a cluster.
func written(t *testing.T) *world {
	t.Helper()
	folder := t.TempDir()
	read := &planning.Manifests{}
	if err := read.Simulate([]string{"h100x8=12", "l40sx4=6", "mi300x8=6"}, "30%"); err != nil {
		t.Fatal(err)
	}
	var documents []string
	for i := range read.Inventories {
		read.Inventories[i].Status.Devices[i%4].Memory.UsedByOthersMiB = int64(512 * (i % 3))
		documents = append(documents, document(t, &read.Inventories[i]))
	}
	for i := range read.Nodes {
		n := &read.Nodes[i]
		n.APIVersion, n.Kind = "v1", "Node"
		documents = append(documents, document(t, n))
	}
	file := filepath.Join(folder, "fleet.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(documents, "---\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, files: []string{"-f", file, "-f", example(t, "tensor"), "-f", filepath.Join("testdata", "hybrid.yaml"), "-f", filepath.Join("testdata", "too-large.yaml")}}
	found, err := planning.ReadManifests([]string{file, w.files[3], w.files[5], w.files[7]}, term.Streams{})
	if err != nil {
		t.Fatal(err)
	}
	if w.state, err = found.State(term.Streams{}); err != nil {
		t.Fatal(err)
	}
	w.fleet = holding.Of(w.state)
	return w
}

func document(t *testing.T, object any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// expected are the numbers that the page may show, by name, as `-o json` has them.
type expected map[string]float64

// add takes over all numbers of an object below a name.
func (e expected) add(name string, object any) {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // of types that are written as JSON elsewhere
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		panic(err)
	}
	e.walk(name, value)
}

func (e expected) walk(name string, value any) {
	switch v := value.(type) {
	case float64:
		e[name] = v
	case map[string]any:
		for key, inner := range v {
			e.walk(name+"."+key, inner)
		}
	case []any:
		for i, inner := range v {
			e.walk(name+"."+strconv.Itoa(i), inner)
		}
	}
}

// ofFleet are the numbers of the fleet: what `top -o json` says, and nodes and devices each.
func ofFleet(f *holding.Fleet) expected {
	e := expected{"nodes": float64(len(f.Nodes)), "placements": float64(len(f.Placements)), "closedNodes": 0}
	totals := holding.Sum(f.Devices)
	e.add("totals", totals)
	held := totals.Conditions[holding.InUse] + totals.Conditions[holding.Reserved]
	e["held"], e["held.share"] = float64(held), float64((200*held+totals.Devices)/(2*totals.Devices))
	for _, g := range holding.Grouped(f.Devices, (*holding.Device).ProductName) {
		e.add("products."+g.Name+".totals", g.Totals)
	}
	for _, g := range holding.Grouped(f.Devices, func(d *holding.Device) string { return d.Node }) {
		e.add("nodes."+g.Name, g.Totals)
	}
	for i := range f.Placements {
		e.add("placements."+f.Placements[i].Namespace+"/"+f.Placements[i].Name+".totals", f.Placements[i].Totals)
	}
	for i := range f.Devices {
		d := &f.Devices[i]
		e.add("devices."+d.Node+"/"+string(d.ID)+".memory", d.Memory)
		e.add("devices."+d.Node+"/"+string(d.ID)+".utilization", d.Utilization)
		for n := range d.Seats {
			if d.Seats[n].Rank != nil {
				e[fmt.Sprintf("devices.%s/%s.seats.rank", d.Node, d.ID)] = float64(*d.Seats[n].Rank)
			}
		}
	}
	return e
}

// ofPlan are the numbers of a plan with its mesh.
func (e expected) ofPlan(plan *v1alpha1.ShardingPlan, mesh *v1alpha1.DeviceMesh) expected {
	e.add("plan.totals", plan.Spec.Totals)
	e["plan.parameters"] = float64(plan.Spec.Model.Parameters)
	e.add("estimate", plan.Spec.Estimate)
	for i, shape := range plan.Spec.Shapes() {
		for n, stage := range shape.Stages {
			e.add(fmt.Sprintf("stages.%d.%d", i, n), stage.PerDevice)
			e.add(fmt.Sprintf("stages.%d.%d", i, n), struct {
				FirstLayer int32 `json:"firstLayer"`
				LastLayer  int32 `json:"lastLayer"`
			}{stage.FirstLayer, stage.LastLayer})
		}
	}
	for _, g := range mesh.Spec.Groups {
		e["groups."+g.Name+".count"], e["groups."+g.Name+".size"] = float64(g.Count), float64(g.Size)
	}
	for _, l := range mesh.Status.SlowestLinks {
		e.add("groups."+l.Group+".slowest", l)
	}
	for _, v := range mesh.Status.Verified {
		e.add("groups."+v.Group+".verified", v)
	}
	return e
}

// counting are numbers that only count places: copies, stages, ranks and the like.
var counting = regexp.MustCompile(`^(copy|copy\.ranks|data|stage|tensor|rank|numa|micros|more|shown\..*|nics\..*|nodes\..*\.domains\..*)$`)

// hold compares the numbers of a part of the page with those that are expected, and each text with its number.
func (b *tab) hold(part string, want expected) {
	b.Helper()
	list := b.numbers(part)
	if len(list) == 0 {
		b.Errorf("%s shows no number", part)
	}
	for _, n := range list {
		value, known := want[n.Name]
		switch {
		case counting.MatchString(n.Name):
		case !known && n.Value == 0: // JSON leaves it out
		case !known:
			b.Errorf("%s: %s is %v, of which -o json says nothing", part, n.Name, n.Value)
		case value != n.Value:
			b.Errorf("%s: %s is %v on the page and %v in -o json", part, n.Name, n.Value, value)
		}
		if text := textOf(n); text != "" && !strings.HasPrefix(n.Text, text) {
			b.Errorf("%s: %s is %v and shown as %q, want %q", part, n.Name, n.Value, n.Text, text)
		}
	}
	for _, text := range b.loose(part) {
		b.Errorf("%s: %q has digits that are no number of the page", part, text)
	}
}

// textOf is how the plugin prints a number in a terminal; empty where it prints none like it.
func textOf(n number) string {
	switch {
	case strings.HasSuffix(n.Name, "MiB"):
		return words.HumanMiB(int64(n.Value))
	case strings.HasSuffix(n.Name, "Bytes"):
		return words.HumanBytes(int64(n.Value))
	case strings.HasSuffix(n.Name, "MicroUSDPerHour"), strings.HasSuffix(n.Name, "microUSDPerHour"):
		return strconv.FormatFloat(n.Value/1e6, 'f', 2, 64)
	case strings.HasSuffix(strings.ToLower(n.Name), "mbps"):
		return term.InUnits(n.Value*1e6, "B/s")
	case strings.HasSuffix(n.Name, "parameters"):
		return term.Billions(int64(n.Value))
	default:
		return ""
	}
}

// TestNumbers reads every number off the page and compares it with what the commands print as JSON.
func TestNumbers(t *testing.T) {
	w := written(t)
	b := open(t, serve(t, w.files...).address, 1440, 1000)
	b.awaits(`document.querySelector('[data-n="totals.devices"]')`)
	fleet := ofFleet(w.fleet)
	b.hold(".kpis", fleet)
	b.hold(".facets", fleet)
	b.run(`location.hash = '#/fleet?as=table'`)
	b.awaits(`document.querySelectorAll('.nodes tbody tr[data-node]').length === ` + strconv.Itoa(len(w.fleet.Nodes)))
	b.hold(".nodes tbody", fleet)
	for _, node := range []string{"h100x8-00000", "l40sx4-00001", "mi300x8-00002"} {
		b.run(`location.hash = '#/fleet?node=` + node + `'`)
		b.awaits(`document.querySelector('.side h2')?.textContent === '` + node + `'`)
		b.hold(".side", fleet)
	}
	for i := range w.state.Plans {
		plan := &w.state.Plans[i]
		name := plan.Namespace + "/" + plan.Spec.Placement.Name
		b.run(`location.hash = '#/placements/` + name + `'`)
		b.awaits(`document.querySelector('.detail h2')?.textContent === '` + plan.Spec.Placement.Name + `' && document.querySelectorAll('.detail .rank').length === ` + strconv.Itoa(int(plan.Spec.Totals.Devices)))
		b.hold(".detail", ofFleet(w.fleet).ofPlan(plan, &w.state.Meshes[i]))
		b.hold(".list", fleet)
	}
	b.run(`location.hash = '#/placements/default/too-large'`)
	b.awaits(`document.querySelector('.detail .refusal')`)
	refused := ofFleet(w.fleet)
	for i := range w.state.Placements {
		if p := &w.state.Placements[i]; p.Status.Shortfall != nil {
			refused.add("shortfall", p.Status.Shortfall)
		}
	}
	b.hold(".detail", refused)
}

// printed is what a command prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Run(t.Context(), args, term.Streams{Out: &out, Err: &errs}); code != term.ExitOK {
		t.Fatalf("%v: exit code %d: %s", args, code, &errs)
	}
	return out.String()
}

// TestWhatIf asks on the page what `kubectl rankwright plan` is asked, and gets the same plan.
func TestWhatIf(t *testing.T) {
	w := written(t)
	b := open(t, serve(t, w.files[:2]...).address, 1440, 1000)
	for _, flags := range [][]string{
		{"--model", "Llama-3.1-70B", "--isl", "2000", "--osl", "500", "--max-sequences", "32"},
		{"--model", "Qwen3-32B", "--objective", "Latency", "--max-tpot", "40ms"},
		{"--model", "7B", "--total-sequences", "64", "--quantization", "BF16"},
	} {
		list := clitest.Object[struct{ Items []json.RawMessage }](t, printed(t, slices.Concat([]string{"plan"}, w.files[:2], flags, []string{"-o", "json"})...))
		plan, mesh := clitest.Object[v1alpha1.ShardingPlan](t, string(list.Items[0])), clitest.Object[v1alpha1.DeviceMesh](t, string(list.Items[1]))
		var query []string
		for i := 0; i < len(flags); i += 2 {
			query = append(query, strings.TrimPrefix(flags[i], "--")+"="+flags[i+1])
		}
		b.run(`document.querySelector('.whatif .detail')?.replaceChildren(); location.hash = '#/what-if?` + strings.Join(query, "&") + `'`)
		b.awaits(`document.querySelector('.whatif h2 + *') && document.querySelector('.detail .title')?.textContent.includes('` + plan.Spec.Model.Name + `') && document.querySelectorAll('.rank').length === ` + strconv.Itoa(int(plan.Spec.Totals.Devices)))
		b.hold(".detail", ofFleet(w.fleet).ofPlan(&plan, &mesh))
	}
}
