package main

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// docs/reference/hardware.md says what is known of which hardware, and from what. It is made of what the backends document and of
// what they find in the recordings, so that it cannot claim more.
func TestHardwareIsDocumented(t *testing.T) {
	table := newHardware()
	for _, name := range slices.Sorted(maps.Keys(recordings)) {
		table.add(t.Context(), name, recordings[name]().Host())
	}
	golden(t, filepath.Join("..", "..", "docs", "reference", "hardware.md"), table.markdown(t))
}

// live are the backends that a test runs on the very host that runs it.
var live = map[string]bool{"cpu": true}

// A test reads every capture that the documentation names.
func TestCapturesAreTested(t *testing.T) {
	var source strings.Builder
	for _, name := range testFiles(t) {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(content)
	}
	for backend, captures := range captured {
		for name := range captures {
			_, short, _ := strings.Cut(name, "/")
			for _, prefix := range []string{"amd-", "intel-", "linux-x86_64__", "qx-"} {
				short = strings.TrimPrefix(short, prefix)
			}
			if !strings.Contains(source.String(), short) {
				t.Errorf("%s: no test speaks of %q", backend, short)
			}
		}
	}
}

func testFiles(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", "pkg", "detect", "*", "*_test.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no tests of pkg/detect: %v", err)
	}
	own, err := filepath.Glob("captures*_test.go")
	if err != nil || len(own) == 0 {
		t.Fatalf("no tests of recorded captures: %v", err)
	}
	return append(names, own...)
}

// fact is something that may be known of a device.
type fact struct {
	name  string
	known func(*v1alpha1.Device) bool
}

var facts = []fact{
	{"product", func(d *v1alpha1.Device) bool { return d.Product != "" }},
	{"architecture", func(d *v1alpha1.Device) bool { return d.Architecture != "" }},
	{"compute capability", func(d *v1alpha1.Device) bool { return d.ComputeCapability != "" }},
	{"UUID", func(d *v1alpha1.Device) bool { return d.UUID != "" }},
	{"driver version", func(d *v1alpha1.Device) bool { return d.DriverVersion != "" }},
	{"firmware", func(d *v1alpha1.Device) bool { return d.FirmwareVersion != "" }},
	{"NUMA node", func(d *v1alpha1.Device) bool { return d.NUMANode != nil }},
	{"device nodes", func(d *v1alpha1.Device) bool { return len(d.Paths) > 0 }},
	{"measured memory", func(d *v1alpha1.Device) bool { return d.Memory != nil && d.Memory.Source != v1alpha1.SourceCatalogue }},
	{"nominal memory", func(d *v1alpha1.Device) bool { return d.Memory != nil && d.Memory.Source == v1alpha1.SourceCatalogue }},
	{"shared memory", func(d *v1alpha1.Device) bool { return d.Memory != nil && d.Memory.Shared != nil }},
	{"peak rates", func(d *v1alpha1.Device) bool { return d.Performance != nil && len(d.Performance.Peak) > 0 }},
	{"partitions", func(d *v1alpha1.Device) bool { return d.Partition != nil }},
	{"health", func(d *v1alpha1.Device) bool { return d.Health.State != v1alpha1.Unknown }},
}

// hardware gathers what is known, by backend.
type hardware map[string]*knowledge

type knowledge struct {
	vendors, links map[string]bool
	// products are the recordings of hosts that have them, by product.
	products map[string]map[string]bool
	// evidence is what healthy devices are taken for healthy by, without and with tools.
	evidence [2]map[string]bool
	// devices counts those listed, without and with tools; facts how many of them have each.
	devices    [2]int
	facts      [2]map[string]int
	recordings int
}

func newHardware() hardware {
	table := hardware{}
	for _, b := range detect.Backends() {
		table[b.Name()] = &knowledge{
			vendors: map[string]bool{}, products: map[string]map[string]bool{}, links: map[string]bool{}, facts: [2]map[string]int{{}, {}},
			evidence: [2]map[string]bool{{}, {}},
		}
	}
	return table
}

// add detects the host of a recording without and with its tools.
func (h hardware) add(ctx context.Context, recording string, seen *host.Host) {
	for tools, commands := range []host.Commands{nil, seen.Commands} {
		report := detect.Detect(ctx, &host.Host{Files: seen.Files, Commands: commands}, detect.Options{})
		status := report.Status
		for _, b := range status.Backends {
			if tools == 1 && (b.Devices > 0 || b.State == v1alpha1.BackendFound) {
				h[b.Name].recordings++
			}
		}
		for i := range status.Devices {
			h[status.Devices[i].Backend].learn(&status.Devices[i], recording, tools)
		}
		for _, domain := range status.Links.Domains {
			h[status.Device(domain.Members[0]).Backend].links[domain.Kind] = true
		}
		for _, pair := range status.Links.Pairs {
			h[status.Device(pair.A).Backend].links[pair.Kind] = true
		}
	}
}

func (k *knowledge) learn(d *v1alpha1.Device, recording string, tools int) {
	k.devices[tools]++
	k.vendors[d.Vendor] = true
	if d.Product != "" {
		k.at(d.Product)[recording] = true
	}
	switch {
	case d.Health.State == v1alpha1.Healthy:
		k.evidence[tools][anyNumber.ReplaceAllString(d.Health.Message, "")] = true
	case d.Health.Reason == v1alpha1.ReasonNotMonitored:
		k.evidence[tools]["nothing"] = true
	}
	for _, f := range facts {
		if f.known(d) {
			k.facts[tools][f.name]++
		}
	}
}

// at are the recordings of hosts with a product.
func (k *knowledge) at(product string) map[string]bool {
	if k.products[product] == nil {
		k.products[product] = map[string]bool{}
	}
	return k.products[product]
}

// anyNumber matches what differs between devices that are well by the same evidence.
var anyNumber = regexp.MustCompile(`:? \d+\b| with \d+ lanes?`)

const hardwareHead = `# Hardware

What Rankwright knows of which hardware, made by a test from the documentation of the backends and from what they find in
the recordings of ` + "`test/recordings`" + `; do not edit it. A fact in brackets is known of some of a backend's devices only.
"Tools add" is what is only known where a vendor's tool or library may run. "Health is seen by" is what says
of a device that it is well; of devices that nothing says it of, health is Unknown, NotMonitored (see [health](../operate/health.md)). *Real captures* are replays of what was
recorded on real hosts; *composed* recordings are written from the kernel's or the tools' documentation, as the README in
each of them says. *As installed* is what an end-to-end test sees through the chart, from the unprivileged pod of the agent on a
real kubelet whose node plays the recorded host, with a library or tool of our own in place of the driver's where one is named
([drivers](../operate/drivers.md) has the values). No backend was run on a real accelerator yet.

| Backend | Vendor | Known without tools | Tools add | Links | Verified on |
|---|---|---|---|---|---|
`

func (h hardware) markdown(t *testing.T) string {
	t.Helper()
	documented := constructors(t)
	var b strings.Builder
	b.WriteString(hardwareHead)
	names := slices.Sorted(maps.Keys(h))
	for _, name := range names {
		k := h[name]
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s | %s | %s |\n", name, name,
			cmp.Or(list(k.vendors), "-"), cmp.Or(k.known(0), "-"), cmp.Or(k.added(), "-"), cmp.Or(list(k.links), "-"), k.evidenceOf(name))
	}
	for _, name := range names {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", name, documented[name])
		if h[name].devices[1] > 0 {
			fmt.Fprintf(&b, "\nHealth is seen by: %s.\n", h[name].monitors())
		}
		h[name].writeProducts(&b, name)
	}
	return b.String()
}

// known lists the facts of devices, in brackets where only some have them.
func (k *knowledge) known(tools int) string {
	var known []string
	for _, f := range facts {
		switch k.facts[tools][f.name] {
		case 0:
		case k.devices[tools]:
			known = append(known, f.name)
		default:
			known = append(known, "("+f.name+")")
		}
	}
	return strings.Join(known, ", ")
}

// added lists the facts that more devices have where tools run.
func (k *knowledge) added() string {
	var added []string
	for _, f := range facts {
		if k.facts[1][f.name]*max(k.devices[0], 1) > k.facts[0][f.name]*max(k.devices[1], 1) {
			added = append(added, f.name)
		}
	}
	return strings.Join(added, ", ")
}

// monitors says by what devices are known to be healthy; nothing is what is unmonitored.
func (k *knowledge) monitors() string {
	parts := func(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), "; ") }
	without, with := parts(k.evidence[0]), parts(k.evidence[1])
	if without == with {
		return cmp.Or(without, "nothing")
	}
	return cmp.Or(with, "nothing") + ". Without tools: " + cmp.Or(without, "nothing")
}

func (k *knowledge) evidenceOf(backend string) string {
	var evidence []string
	if live[backend] {
		evidence = append(evidence, "the host that runs the tests")
	}
	if n := len(captured[backend]); n > 0 {
		evidence = append(evidence, words.Counted(n, "real capture"))
	}
	if k.recordings > 0 {
		evidence = append(evidence, words.Counted(k.recordings, "composed recording"))
	}
	return cmp.Or(strings.Join(evidence, ", "), "nothing")
}

func list(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), ", ") }

// constructors returns what the backends' constructors document, by the name of the backend: the list of them in pkg/detect tells
// in which package each is.
func constructors(t *testing.T) map[string]string {
	t.Helper()
	folder := filepath.Join("..", "..", "pkg", "detect")
	list, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, "backends.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var calls []*ast.SelectorExpr
	ast.Inspect(list, func(n ast.Node) bool {
		if literal, ok := n.(*ast.CompositeLit); ok {
			for _, element := range literal.Elts {
				made, _ := element.(*ast.CallExpr)
				if call, ok := made.Fun.(*ast.SelectorExpr); ok {
					calls = append(calls, call)
				}
			}
		}
		return true
	})
	backends := detect.Backends()
	if len(calls) != len(backends) {
		t.Fatalf("%d constructors for %d backends", len(calls), len(backends))
	}
	documented := map[string]string{}
	for i, call := range calls {
		pkg := parsePackage(t, filepath.Join(folder, fmt.Sprint(call.X)))
		for _, f := range pkg.Funcs {
			if f.Name == call.Sel.Name {
				documented[backends[i].Name()] = strings.TrimSpace(string(pkg.Markdown(f.Doc)))
			}
		}
		if documented[backends[i].Name()] == "" {
			t.Errorf("backend %s: its constructor %s says nothing", backends[i].Name(), call.Sel.Name)
		}
	}
	return documented
}

// parsePackage reads what the files of a folder document, tests apart.
func parsePackage(t *testing.T, folder string) *doc.Package {
	t.Helper()
	files := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var parsed []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	pkg, err := doc.NewFromFiles(files, parsed, filepath.Base(folder))
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}
