package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// stepping is a clock that goes on by a step with every look at it.
func stepping(step time.Duration) func() time.Time {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return func() time.Time {
		now = now.Add(step)
		return now
	}
}

// simulate runs the command with a clock that every look moves on by a millisecond.
func simulate(t *testing.T, stdin string, args ...string) (clitest.Result, error) {
	t.Helper()
	return simulateAt(t, time.Millisecond, stdin, args...)
}

func simulateAt(t *testing.T, step time.Duration, stdin string, args ...string) (clitest.Result, error) {
	t.Helper()
	var out, errs bytes.Buffer
	command := planning.NewSimulate(term.Streams{In: strings.NewReader(stdin), Out: &out, Err: &errs, Now: stepping(step)})
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(args)
	err := command.ExecuteContext(t.Context())
	return clitest.Result{Out: out.String(), Err: errs.String()}, err
}

// simulated runs the command and reads its report.
func simulated(t *testing.T, stdin string, args ...string) planning.SimulationReport {
	t.Helper()
	r, err := simulate(t, stdin, append(args, "-o", "json")...)
	if err != nil || r.Err != "" {
		t.Fatalf("%v: error %v, %q", args, err, r.Err)
	}
	return clitest.Object[planning.SimulationReport](t, r.Out)
}

// byTensor is a placement of a small model with a tensor degree.
func byTensor(name, degree string) string {
	return placement(name, small, `"quantization":"BF16","parallelism":{"tensor":`+degree+`,"pipeline":1}`)
}

// TestSimulateGoldens prints clusters on which nothing is planned, so that the planner does not change the text.
func TestSimulateGoldens(t *testing.T) {
	cluster := []string{
		"--nodes", "100", "--shape", "h100x8=60%", "--shape", "gb200x4=18", "--shape", "mixedx4", "--occupied", "37.5%", "--seed", "3",
		"--fail-nodes", "4", "--add", "t4x2=1", "--remove", "h100x8=2",
	}
	for file, more := range map[string][]string{"simulate-cluster.txt": nil, "simulate-cluster.yaml": {"-o", "yaml"}} {
		r, err := simulate(t, "", append(slices.Clone(cluster), more...)...)
		if err != nil {
			t.Fatal(err)
		}
		clitest.Golden(t, file, r.Out)
	}
}

// TestSimulationTables prints a report that was written by hand, so that the planner does not change the text.
func TestSimulationTables(t *testing.T) {
	copyOf := func(micros int64, on ...string) planning.SimulatedPlacement {
		return planning.SimulatedPlacement{
			Placement: "team/chat", Strategy: "TP4 (TensorParallel)", Tensor: 4, Quantization: "FP8", Devices: 4, Nodes: 1, MemoryBytes: 180 << 30,
			TokensPerSecond: 1234, Digits: 2, Products: map[string]int{"NVIDIA L40S": 4}, On: on, PlanMicros: micros,
		}
	}
	wider := copyOf(90, "a", "b", "c", "d", "e", "f")
	wider.Strategy, wider.Products, wider.TokensPerSecond = "PP6 (PipelineParallel)", map[string]int{"NVIDIA L40S": 2, "Tesla T4": 4}, 0
	report := planning.SimulationReport{
		Cluster: planning.SimulatedCluster{Nodes: 12, Occupied: "50%", Pattern: "scattered", Seed: 9, FailedNodes: 1, Added: []string{"l40sx4=2"}},
		Asked:   1, Placements: []planning.SimulatedPlacement{copyOf(300, "a"), copyOf(100, "b"), copyOf(120, "c"), wider}, TensorGroup: 4,
		Products: []planning.ProductStock{
			{Product: "NVIDIA L40S", Nodes: 10, Devices: 40, FreeBefore: 20, FreeAfter: 6, StrandedBefore: 5, StrandedAfter: 6},
			{Product: "Tesla T4", Nodes: 2, Devices: 4, FreeBefore: 4, StrandedBefore: 4},
		},
		Full: "TooFewDevices: no room.",
	}
	report.Times.IndexMicros, report.Times.RefusalMicros = 4321, 7000
	report.Times.Summarize(report.Placements)
	for file, wide := range map[string]bool{"simulate.txt": false, "simulate-wide.txt": true} {
		out := term.Page{Wide: wide}
		report.Print(&out, wide)
		clitest.Golden(t, file, out.String())
	}
}

// TestSimulatePlacesOneAfterTheOther: the second group of 4 does not fit beside the first on a node of 8 of which 3 are
// held, and the third is not tried.
func TestSimulatePlacesOneAfterTheOther(t *testing.T) {
	input := stream(byTensor("first", "4"), byTensor("second", "4"), byTensor("third", "1"))
	r, err := simulate(t, input, "--shape", "h100x8=1", "--occupied", "37.5%", "--placement", "-", "-o", "json")
	if !errors.Is(err, term.ErrReported) || !strings.Contains(r.Err, "placement default/second: ") || strings.Contains(r.Err, "third") {
		t.Fatalf("error %v, %q", err, r.Err)
	}
	report := clitest.Object[planning.SimulationReport](t, r.Out)
	if len(report.Placements) != 1 || report.Asked != 3 {
		t.Fatalf("%d of %d placements have devices, want 1 of 3", len(report.Placements), report.Asked)
	}
	first := report.Placements[0]
	if first.Placement != "default/first" || first.Devices != 4 || first.Tensor != 4 || len(first.On) != 1 || first.On[0] != "h100x8-00000" {
		t.Errorf("the first placement has %+v", first)
	}
	want := []planning.ProductStock{{Product: "NVIDIA H100 80GB HBM3", Nodes: 1, Devices: 8, FreeBefore: 5, FreeAfter: 1, StrandedAfter: 1}}
	if diff := cmp.Diff(want, report.Products); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
	if times := report.Times; times != (planning.SimulatedTimes{IndexMicros: 1000, PlanMedianMicros: 1000, PlanWorstMicros: 1000, RefusalMicros: 1000}) {
		t.Errorf("times by a clock of a millisecond a look: %+v", times)
	}
}

// TestSimulateChoosesTheCopies: without --replicas, --total-sequences is answered with as many copies as it takes; with it, they share the load.
func TestSimulateChoosesTheCopies(t *testing.T) {
	command := []string{"--shape", "h100x8=4", "--model", "Llama-3.3-70B", "--quantization", "BF16", "--max-model-len", "4096", "--total-sequences", "1000"}
	for _, test := range []struct {
		more    []string
		devices int32
		copies  string
	}{{nil, 24, " x3"}, {[]string{"--replicas", "4"}, 32, " x4"}} {
		report := simulated(t, "", append(slices.Clone(command), test.more...)...)
		if got := report.Placements[0]; got.Devices != test.devices || !strings.Contains(got.Strategy, test.copies) {
			t.Errorf("%v: %s on %d devices, want%s on %d", test.more, got.Strategy, got.Devices, test.copies, test.devices)
		}
	}
}

// TestWhatIf counts how often a group of 8 fits.
func TestWhatIf(t *testing.T) {
	base := []string{"--shape", "h100x8=3", "--shape", "l40sx4=5", "--placement", "-", "--until-full"}
	tests := map[string]struct {
		more []string
		want int
	}{
		"as it is":           {nil, 3},
		"two more nodes":     {[]string{"--add", "h100x8=2"}, 5},
		"another shape":      {[]string{"--add", "a100-80x8=1"}, 4},
		"one node less":      {[]string{"--remove", "h100x8=1"}, 2},
		"all of them failed": {[]string{"--fail-nodes", "8"}, 0},
		"every device held":  {[]string{"--occupied", "100%"}, 0},
		"held and added":     {[]string{"--occupied", "100%", "--add", "h100x8=2"}, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := simulated(t, byTensor("p", "8"), append(slices.Clone(base), test.more...)...)
			if len(report.Placements) != test.want || report.Full == "" {
				t.Errorf("fits %d times, want %d; full: %q", len(report.Placements), test.want, report.Full)
			}
		})
	}
}

// TestFabricsAreIslands: a rack's 72 devices are one island, so that a group of 16 strands none of them.
func TestFabricsAreIslands(t *testing.T) {
	report := simulated(t, byTensor("p", "16"), "--shape", "gb200x4=18", "--placement", "-")
	if p := report.Products[0]; p.FreeBefore != 72 || p.FreeAfter != 56 || p.StrandedBefore != 0 || p.StrandedAfter != 0 {
		t.Errorf("%+v", p)
	}
}

func TestSimulateIsTheSameTwice(t *testing.T) {
	args := []string{
		"--nodes", "50", "--shape", "h100x8=50%", "--shape", "l40sx4", "--occupied", "50%", "--pattern", "scattered", "--fail-nodes", "3",
		"--model", "Llama-3.1-8B", "--replicas", "5", "--until-full", "-o", "wide",
	}
	first, err := simulate(t, "", args...)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := simulate(t, "", args...)
	if diff := cmp.Diff(first.Out, second.Out); diff != "" {
		t.Errorf("the same flags print otherwise:\n%s", diff)
	}
}

// TestWrittenClusterPlansAlike plans on the written files what simulate planned in memory.
func TestWrittenClusterPlansAlike(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "cluster")
	asked := placement("p", small, `"replicas":3`, `"topology":{"required":"cloud.provider.com/topology-rack"}`)
	args := []string{"--shape", "h100x8=3", "--shape", "v5ex4=5", "--shape", "l40sx4=4", "--occupied", "50%", "--fail-nodes", "2", "--placement", "-"}
	report := simulated(t, asked, append(args, "--write", folder)...)
	plans, _ := plansOf(t, ok(t, asked, "plan", "-f", folder, "-f", "-", "-o", "json"))
	var on []string
	for _, row := range plans[0].Spec.Nodes {
		on = append(on, row.Node)
	}
	slices.Sort(on)
	if diff := cmp.Diff(report.Placements[0].On, slices.Compact(on)); diff != "" {
		t.Errorf("planned on other nodes than simulated (-simulated +planned):\n%s", diff)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 12 {
		t.Errorf("%d files, error %v, want 12", len(entries), err)
	}
	if _, err := simulate(t, asked, append(args, "--write", folder)...); err == nil || !strings.Contains(err.Error(), "give a new or an empty one") {
		t.Errorf("writing over a cluster: %v", err)
	}
}

func TestSimulateTellsOfItsProgress(t *testing.T) {
	args := []string{"--shape", "l40sx4=3", "--model", "Llama-3.1-8B", "--until-full"}
	for step, want := range map[time.Duration]bool{time.Microsecond: false, time.Second: true} {
		r, err := simulateAt(t, step, "", args...)
		if err != nil || strings.Contains(r.Err, "planned, default/llama-3.1-8b\n") != want || (r.Err == "") == want {
			t.Errorf("looks at the clock %v apart: error %v, %q", step, err, r.Err)
		}
	}
}

func TestSimulateRefuses(t *testing.T) {
	h100 := []string{"--shape", "h100x8=2"}
	tests := map[string]struct {
		args []string
		want string
	}{
		"no shape":            {nil, "give one with --shape"},
		"unknown shape":       {[]string{"--shape", "h900x8=1"}, `--shape h900x8=1: shape "h900x8" is not known: use one of a100-40x8`},
		"share of nothing":    {[]string{"--shape", "h100x8=50%"}, "give the number of nodes"},
		"shares do not add":   {[]string{"--nodes", "10", "--shape", "h100x8=50%"}, "--nodes 10: the shapes add up to less than 10 nodes"},
		"negative nodes":      {append(h100, "--nodes", "-3"), "--nodes -3: give from 1 to 100000"},
		"too many nodes":      {[]string{"--nodes", "100001", "--shape", "h100x8"}, "100001 nodes: give from 1 to 100000"},
		"occupied as a ratio": {append(h100, "--occupied", "0.5"), `--occupied: "0.5" is not a share: give a percentage`},
		"occupied too much":   {append(h100, "--occupied", "150%"), `--occupied: "150%"`},
		"pattern":             {append(h100, "--pattern", "stripes"), "--pattern stripes: use one of [islands scattered fragments]"},
		"seed":                {append(h100, "--seed", "-1"), `"-1" for "--seed"`},
		"negative failures":   {append(h100, "--fail-nodes", "-1"), "--fail-nodes -1: give 0 or more"},
		"more failures":       {append(h100, "--fail-nodes", "3"), "3 nodes are to fail, but there are 2: lower the number"},
		"add a share":         {append(h100, "--add", "h100x8=50%"), "--add h100x8=50%: give a number of nodes, such as h100x8=2"},
		"remove the rest":     {append(h100, "--remove", "h100x8"), "--remove h100x8: give a number of nodes"},
		"remove an unknown":   {append(h100, "--remove", "x=1"), `--remove x=1: shape "x" is not known`},
		"remove too many":     {append(h100, "--remove", "h100x8=3"), "3 nodes of shape h100x8 are to be removed, but there are 2"},
		"until full of none":  {append(h100, "--until-full"), "--until-full with 0 placements: give exactly one"},
		"model and placement": {append(h100, "--model", "Llama-3.1-8B", "--placement", "x.yaml"), "--model Llama-3.1-8B and --placement: give one of them"},
		"replicas of nothing": {append(h100, "--replicas", "2"), "--replicas is of --model"},
		"no copies":           {append(h100, "--model", "Llama-3.1-8B", "--replicas", "0"), "--replicas 0: give at least 1"},
		"no context":          {append(h100, "--model", "Llama-3.1-8B", "--max-model-len", "-5"), "--max-model-len -5: give at least 1"},
		"two loads":           {append(h100, "--model", "Llama-3.1-8B", "--max-sequences", "4", "--total-sequences", "9"), "--total-sequences 9: give at least 1, and no --max-sequences"},
		"no load":             {append(h100, "--model", "Llama-3.1-8B", "--total-sequences", "0"), "--total-sequences 0: give at least 1"},
		"load of nothing":     {append(h100, "--total-sequences", "9"), "--total-sequences is of --model"},
		"no sequences":        {append(h100, "--model", "Llama-3.1-8B", "--max-sequences", "0"), "--max-sequences 0: give at least 1"},
		"unknown model":       {append(h100, "--model", "Llama-9"), `model "Llama-9"`},
		"missing file":        {append(h100, "--placement", "nowhere.yaml"), "nowhere.yaml"},
		"argument":            {append(h100, "h100x8"), "simulate takes flags only"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if r, err := simulate(t, "", test.args...); err == nil || !strings.Contains(err.Error(), test.want) || r.Out != "" {
				t.Errorf("error %v, output %q, want %q", err, r.Out, test.want)
			}
		})
	}
	for name, test := range map[string]struct{ input, want string }{
		"no placement":     {`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`, "no ModelPlacement in the files of --placement"},
		"inventories":      {stream(inventoryOf("a", 1), placement("p", small)), "simulate builds a cluster of its own"},
		"two of one name":  {stream(placement("p", small), placement("p", small)), "is in the files twice"},
		"two sources":      {placement("p", small+`,"parameters":7000000000`), "set exactly one"},
		"a misspelt field": {placement("p", small, `"quantisation":"FP8"`), "quantisation"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := simulate(t, test.input, "--shape", "h100x8=2", "--placement", "-"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestSimulateAsACommand runs it as the plugin does: usage, help and the real clock.
func TestSimulateAsACommand(t *testing.T) {
	if r := run(t, "", "simulate"); r.Code != term.ExitUsage || !strings.Contains(r.Err, "See 'kubectl rankwright simulate --help'") {
		t.Errorf("exit code %d, %q", r.Code, r.Err)
	}
	if out := ok(t, "", "simulate", "--help"); !strings.Contains(out, "Examples:") || !strings.Contains(out, "gb200x4") || strings.Contains(out, "%SHAPES%") {
		t.Errorf("help: %s", out)
	}
	if out := ok(t, "", "simulate", "--shape", "t4x2=1", "--model", "Llama-3.2-1B"); !strings.Contains(out, "default/llama-3.2-1b") {
		t.Errorf("output %s", out)
	}
	if r := run(t, "", "simulate", "--shape", "t4x2=1", "--model", "Llama-3.1-405B"); r.Code != term.ExitFailure || !strings.Contains(r.Err, "does not fit") {
		t.Errorf("exit code %d, %q", r.Code, r.Err)
	}
}
