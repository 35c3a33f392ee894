package pipeline

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/test/figure"
)

// exhaustive tries every sequence of devices and every cut.
type exhaustive struct {
	chain   *Chain
	devices []int // the class of each
	taken   []bool
	slowest float64
	stages  int
	total   float64
}

func trySplits(c *Chain) *exhaustive {
	e := &exhaustive{chain: c, slowest: math.Inf(1)}
	for class, n := range c.Devices {
		for range n {
			e.devices = append(e.devices, class)
		}
	}
	e.taken = make([]bool, len(e.devices))
	e.extend(-1, 0, 0, 0, 0)
	return e
}

func (e *exhaustive) extend(last, start, stages int, slowest, total float64) {
	if slowest > e.slowest {
		return // no stage that follows makes it faster
	}
	if start == e.chain.Layers {
		e.consider(stages, slowest, total)
		return
	}
	if e.chain.MaxStages > 0 && stages == e.chain.MaxStages {
		return
	}
	for d, class := range e.devices {
		if e.taken[d] || (d > 0 && e.devices[d-1] == class && !e.taken[d-1]) {
			continue // of equal devices the first that is left
		}
		e.taken[d] = true
		receive := 0.0
		if last >= 0 && e.chain.Handover != nil {
			receive = e.chain.Handover[last][class]
		}
		for end := start + 1; end <= e.chain.Layers; end++ {
			if seconds := receive + e.chain.Seconds(class, start, end); !math.IsInf(seconds, 1) {
				e.extend(class, end, stages+1, max(slowest, seconds), total+seconds)
			}
		}
		e.taken[d] = false
	}
}

func (e *exhaustive) consider(stages int, slowest, total float64) {
	switch {
	case slowest < e.slowest, slowest == e.slowest && stages < e.stages, slowest == e.slowest && stages == e.stages && total < e.total:
		e.slowest, e.stages, e.total = slowest, stages, total
	}
}

// drawChain is a random chain with times that are whole numbers, so that sums are exact and ties are common. Its devices
// are dealt to classes at random, and half of the chains have times that follow no rule.
func drawChain(r *rand.Rand, devices, layers int) *Chain {
	classes := 1 + r.IntN(devices)
	c := &Chain{Layers: layers, Devices: make([]int, classes)}
	for range devices {
		c.Devices[r.IntN(classes)]++
	}
	if r.IntN(2) == 0 {
		c.Seconds = drawTable(r, classes, layers)
	} else {
		c.Seconds = drawCost(r, classes, layers)
	}
	if r.IntN(2) == 0 {
		for range classes {
			row := make([]float64, classes)
			for i := range row {
				row[i] = float64(r.IntN(4))
			}
			c.Handover = append(c.Handover, row)
		}
	}
	if r.IntN(4) == 0 {
		c.MaxStages = 1 + r.IntN(devices)
	}
	return c
}

func drawTable(r *rand.Rand, classes, layers int) func(class, start, end int) float64 {
	table := make([]float64, classes*(layers+1)*(layers+1))
	for i := range table {
		table[i] = float64(r.IntN(40))
		if r.IntN(2) == 0 {
			table[i] = math.Inf(1)
		}
	}
	return func(class, start, end int) float64 { return table[(class*(layers+1)+start)*(layers+1)+end] }
}

// layer is what one layer asks for, kind what a class of devices has.
type (
	layer struct {
		seconds float64
		bytes   int
	}
	kind struct {
		speed float64
		bytes int
	}
)

func drawCost(r *rand.Rand, classes, layers int) func(class, start, end int) float64 {
	list, kinds := make([]layer, layers), make([]kind, classes)
	for i := range list {
		list[i] = layer{float64(4 * r.IntN(8)), 1 + r.IntN(6)}
	}
	for i := range kinds {
		kinds[i] = kind{[]float64{0.5, 1, 2, 4}[r.IntN(4)], 2 + r.IntN(30)}
	}
	return stageSeconds(list, kinds)
}

// stageSeconds is a stage's time as the sum of its layers' over the speed of its class, +Inf where they do not fit.
func stageSeconds(layers []layer, kinds []kind) func(class, start, end int) float64 {
	before := make([]layer, len(layers)+1)
	for i, l := range layers {
		before[i+1] = layer{before[i].seconds + l.seconds, before[i].bytes + l.bytes}
	}
	return func(class, start, end int) float64 {
		if before[end].bytes-before[start].bytes > kinds[class].bytes {
			return math.Inf(1)
		}
		return (before[end].seconds - before[start].seconds) / kinds[class].speed
	}
}

// checkSplit compares a division with all others, and its parts with the chain. It returns whether there is one.
func checkSplit(t *testing.T, c *Chain) bool {
	t.Helper()
	want := trySplits(c)
	got, err := Split(*c)
	if math.IsInf(want.slowest, 1) {
		if !errors.Is(err, ErrNoFit) {
			t.Fatalf("got %v, %v where nothing fits", got, err)
		}
		return false
	}
	if err != nil {
		t.Fatalf("%v, the best is %v", err, want.slowest)
	}
	if got.Slowest != want.slowest || len(got.Stages) != want.stages || got.Total != want.total {
		t.Fatalf("got slowest %v, %d stages, total %v; the best is %v, %d, %v",
			got.Slowest, len(got.Stages), got.Total, want.slowest, want.stages, want.total)
	}
	checkStages(t, c, got)
	return true
}

func checkStages(t *testing.T, c *Chain, d *Division) {
	t.Helper()
	used := make([]int, len(c.Devices))
	at, slowest := 0, 0.0
	for i, s := range d.Stages {
		seconds := c.Seconds(s.Class, s.Start, s.End)
		if i > 0 && c.Handover != nil {
			seconds += c.Handover[d.Stages[i-1].Class][s.Class]
		}
		used[s.Class]++
		if s.Start != at || s.End <= s.Start || used[s.Class] > c.Devices[s.Class] || s.Seconds != seconds {
			t.Fatalf("stage %d of %+v is wrong", i, d.Stages)
		}
		at, slowest = s.End, max(slowest, seconds)
	}
	if at != c.Layers || slowest != d.Slowest {
		t.Fatalf("%+v covers %d layers and takes %v", d, at, slowest)
	}
}

// cases runs a check on so many random cases, each from a seed of its own, and demands both outcomes.
func cases(t *testing.T, count int, check func(t *testing.T, r *rand.Rand) bool) {
	t.Helper()
	outcomes := map[bool]int{}
	for seed := range uint64(count) {
		func() {
			defer func() {
				if t.Failed() {
					t.Logf("in case %d", seed)
				}
			}()
			outcomes[check(t, rand.New(rand.NewPCG(seed, 0)))]++
		}()
	}
	t.Logf("%d cases that fit, %d that do not", outcomes[true], outcomes[false])
	if outcomes[true] < count/4 || outcomes[false] == 0 {
		t.Errorf("the cases are one-sided: %v", outcomes)
	}
}

// TestSplitEqualsExhaustiveSearch holds Split to every division of small clusters.
func TestSplitEqualsExhaustiveSearch(t *testing.T) {
	cases(t, 10000, func(t *testing.T, r *rand.Rand) bool {
		if r.IntN(2) == 0 {
			return checkSplit(t, drawChain(r, 5, 8))
		}
		return checkSplit(t, drawChain(r, 1+r.IntN(5), 1+r.IntN(8)))
	})
	figure.All("pipelines", "splits over up to 5 devices and 8 layers equal every division tried", 10000, 10000, 10000).Hold(t)
}

func TestSplitEqualsExhaustiveSearchOfLargerClusters(t *testing.T) {
	cases(t, 200, func(t *testing.T, r *rand.Rand) bool {
		return checkSplit(t, drawChain(r, 8, 12))
	})
	figure.All("pipelines", "splits over 8 devices and 12 layers equal every division tried", 200, 200, 200).Hold(t)
}

func TestSplitRefuses(t *testing.T) {
	one := func(int, int, int) float64 { return 1 }
	for _, test := range []struct {
		name  string
		chain Chain
		want  string
	}{
		{"no layers", Chain{Devices: []int{1}, Seconds: one}, "layers is 0: give between 1 and 4096"},
		{"too many layers", Chain{Layers: math.MaxInt, Devices: []int{1}, Seconds: one}, "layers is 9223372036854775807: give between 1 and 4096"},
		{"no classes", Chain{Layers: 1, Seconds: one}, "there are 0 classes of devices: give between 1 and 64"},
		{"no times", Chain{Layers: 1, Devices: []int{1}}, "seconds is missing: give the time of a stage by class and layers"},
		{"fewer than none", Chain{Layers: 1, Devices: []int{-1}, Seconds: one}, "devices[0] is -1: give zero or more"},
		{
			"rows",
			Chain{Layers: 1, Devices: []int{1}, Seconds: one, Handover: [][]float64{{0}, {0}}},
			"handover has 2 rows: give one for each of 1 classes",
		},
		{
			"columns",
			Chain{Layers: 1, Devices: []int{1}, Seconds: one, Handover: [][]float64{{}}},
			"handover[0] has 0 entries: give one for each of 1 classes",
		},
		{
			"backwards",
			Chain{Layers: 1, Devices: []int{1}, Seconds: one, Handover: [][]float64{{-1}}},
			"handover[0][0] is -1: give 0 to 1e+12 seconds, +Inf for no link",
		},
		{
			"no number",
			Chain{Layers: 1, Devices: []int{1}, Seconds: func(int, int, int) float64 { return math.NaN() }},
			"seconds(0, 0, 1) is NaN: give 0 to 1e+12, +Inf where the class does not hold the layers",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Split(test.chain)
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff("invalid pipeline problem: "+test.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSplitStatesItsLimit(t *testing.T) {
	devices := make([]int, 12)
	for i := range devices {
		devices[i] = 8
	}
	_, err := Split(Chain{Layers: 80, Devices: devices, Seconds: func(int, int, int) float64 { return 1 }})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want %v", err, ErrTooLarge)
	}
}
