package cost

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/model"
)

func product(t testing.TB, name string) *Device {
	t.Helper()
	for _, p := range accelerator.Products() {
		if p.Name == name {
			d := NewDevice(&p)
			return &d
		}
	}
	t.Fatalf("no product %q", name)
	return nil
}

func loaded(t testing.TB) *Calibration {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func profile(t testing.TB, name string, weights v1alpha1.Precision) *Profile {
	t.Helper()
	m, err := model.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return NewProfile(m, Stored(m, weights, ""))
}

// ideal are constants with which every operator reaches its peak and nothing else takes time.
func ideal() Constants {
	var c Constants
	for _, share := range []Constant{
		WeightShare, CacheShare, LinearShare16, LinearShare8, LinearShare4, ExpertShare, AttentionShare, LinkShare, HostLinkShare,
		StageShare, WaveShare, ArrivalShare,
	} {
		c[share] = 1
	}
	return c
}

// TestDecodeByHand holds a step of one sequence to bytes over bandwidth: every weight but the input embedding, once.
func TestDecodeByHand(t *testing.T) {
	m, err := model.Lookup("Llama-3.1-8B")
	if err != nil {
		t.Fatal(err)
	}
	d := product(t, "NVIDIA H200")
	c := ideal()
	for _, tensor := range []int{1, 2, 4, 8} {
		q := Query{Profile: profile(t, m.Name, v1alpha1.BF16), Device: d, Strategy: Strategy{Tensor: tensor}, Workload: Workload{Input: 1000, Output: 2, Concurrency: 1}}
		norms := int64(2*m.Architecture.Layers+1) * int64(m.Architecture.HiddenSize)
		read := float64(2*(m.ActiveParameters()-norms) + 1001*m.KVBytesPerToken(v1alpha1.BF16))
		if tensor > 1 {
			d.Link = 1e30
		}
		want := read / float64(tensor) / d.Bandwidth
		if got := Serve(&q, &c).TPOT; math.Abs(got/want-1) > 1e-6 {
			t.Errorf("tensor %d: %v s a token, by hand %v", tensor, got, want)
		}
	}
}

// TestVisitedExperts holds the share of experts that a step reads: 1-(1-k/E)^tokens of them.
func TestVisitedExperts(t *testing.T) {
	p := profile(t, "Mixtral-8x7B", v1alpha1.FP8)
	d, c := product(t, "NVIDIA H200"), ideal()
	s := newStepper(p, d, &c, Strategy{}.degrees())
	for _, test := range []struct{ tokens, visited float64 }{{1, 2.0 / 8}, {2, 1 - 0.75*0.75}, {4, 1 - math.Pow(0.75, 4)}} {
		want := 8 * test.visited * 3 * 4096 * 14336 / d.Bandwidth
		if got := s.route(test.tokens); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%g tokens: %v s, by hand %v", test.tokens, got, want)
		}
	}
}

// TestTilesOfExperts: a token takes the arithmetic of a tile of each of its experts, but on devices that multiply vectors.
func TestTilesOfExperts(t *testing.T) {
	p, c := profile(t, "Mixtral-8x7B", v1alpha1.BF16), ideal()
	c[ExpertPadding] = 64
	for name, tile := range map[string]float64{"NVIDIA H200": 64, "Apple M3 Max (40-core)": 0} {
		d := *product(t, name)
		d.Bandwidth = math.Inf(1)
		s := newStepper(p, &d, &c, Strategy{}.degrees())
		want := 2 * 3 * 4096 * 14336 * 2 * (1 + tile) / d.peak[bits16]
		if got := s.route(1); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%s: %v s, by hand %v", name, got, want)
		}
	}
}

// TestAllReduceByHand holds the collectives of a step: two a layer, each of which sends 2 (n-1)/n of 16-bit activations.
func TestAllReduceByHand(t *testing.T) {
	p := profile(t, "Llama-3.1-70B", v1alpha1.FP8)
	c := ideal()
	c[ReduceSeconds], c[HostReduceSeconds] = 1e-6, 7e-6
	for _, test := range []struct {
		product string
		latency float64
	}{{"NVIDIA H200", 1e-6}, {"NVIDIA L40S", 7e-6}} {
		d := product(t, test.product)
		s := newStepper(p, d, &c, Strategy{Tensor: 4}.degrees())
		want := 2 * (2*test.latency + 2*0.75*10*8192*2/d.Link)
		if got := s.collect(10); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%s: %v s, by hand %v", test.product, got, want)
		}
	}
}

// TestSharedTokens holds what tensor ranks that share out the tokens of a latent read less, and exchange.
func TestSharedTokens(t *testing.T) {
	p, d, c := profile(t, "DeepSeek-V3", v1alpha1.FP8), product(t, "NVIDIA H200"), ideal()
	c[ReduceSeconds] = 1e-6
	b := batch{sequences: 16, context: 100000}
	alone, shared := newStepper(p, d, &c, Strategy{Tensor: 8}.degrees()), newStepper(p, d, &c, Strategy{Tensor: 8, DecodeContext: 4}.degrees())
	attention := func(s *stepper) float64 { return s.mix(&p.mixers[0], &b, 16) - s.linear(&p.mixers[0].projections, 16) }
	read, compute := 16*1e5*576*p.attention.bytes/d.Bandwidth, 16*1e5*16*2*(2*512+64)/d.peak[bits16]
	for name, pair := range map[string][2]float64{
		"attention to all tokens":       {attention(&alone), soft(read, compute)},
		"to a share, with four queries": {attention(&shared), soft(read/4, compute)},
		"no exchange":                   {alone.merge(16), 0},
		"exchange":                      {shared.merge(16), 3*2e-6 + 3*16*16*(576+512)*2/d.Link},
		"nobody decodes":                {shared.merge(0), 0},
	} {
		if got, want := pair[0], pair[1]; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: %v s, by hand %v", name, got, want)
		}
	}
}

// TestExpertsOverIslands holds what ranks of two islands exchange: a token crosses the network once for an island, shared out among its
// ranks, while the link carries it to each of them.
func TestExpertsOverIslands(t *testing.T) {
	p, d, c := profile(t, "DeepSeek-V3", v1alpha1.FP8), *product(t, "NVIDIA H200"), ideal()
	d.Network = 25e9
	c[ReduceSeconds], c[HostReduceSeconds] = 1e-6, 7e-6
	visits := func(of float64) float64 { return 1 - math.Pow(1-1/of, 8) }
	link, network := 15.0/16*4096*7168*2*visits(16)/d.Link, 4096.0/16*7168*2*visits(2)/25e9
	for name, test := range map[string]struct {
		islands int
		want    float64
	}{
		"one island": {1, 2 * (4e-6 + link)}, "two": {2, 2 * (3e-6 + 7e-6 + soft(link, network))},
	} {
		s := newStepper(p, &d, &c, Strategy{AttentionData: 16, Expert: 16, Islands: test.islands}.degrees())
		if got := s.exchange(4096); math.Abs(got/test.want-1) > 1e-9 {
			t.Errorf("%s: %v s, by hand %v", name, got, test.want)
		}
	}
	d.Network = 0
	unknown := newStepper(p, &d, &c, Strategy{AttentionData: 16, Expert: 16, Islands: 2}.degrees())
	if unknown.network != unknown.link {
		t.Errorf("a network of unknown rate: %v, want that of the link, %v", unknown.network, unknown.link)
	}
}

// TestWidths holds what a format is computed in where a device cannot: 16 bits.
func TestWidths(t *testing.T) {
	for _, test := range []struct {
		product string
		format  v1alpha1.Precision
		want    float64
	}{
		{"NVIDIA A100-SXM4-80GB", v1alpha1.FP8, 312e12},
		{"NVIDIA H200", v1alpha1.FP8, 1979e12},
		{"NVIDIA H200", v1alpha1.MXFP4, 989e12},
		{"NVIDIA H200", v1alpha1.INT4, 989e12},
		{"NVIDIA B200", v1alpha1.NVFP4, 9000e12},
		{"NVIDIA B300 SXM6 AC", v1alpha1.INT8, 153.5e12},
	} {
		c := ideal()
		s := newStepper(profile(t, "Llama-3.1-8B", v1alpha1.BF16), product(t, test.product), &c, Strategy{}.degrees())
		if got := s.compute[widthOf(test.format)]; got != test.want {
			t.Errorf("%s %s: %g operations per second, want %g", test.product, test.format, got, test.want)
		}
	}
}

func TestArchitectures(t *testing.T) {
	got := map[string]string{}
	for _, name := range []string{"NVIDIA B200", "NVIDIA B300 SXM6 AC", "NVIDIA RTX PRO 6000 Blackwell Server Edition", "NVIDIA H200", "NVIDIA L40S"} {
		got[name] = product(t, name).Architecture
	}
	want := map[string]string{
		"NVIDIA B200": "Blackwell", "NVIDIA B300 SXM6 AC": "Blackwell", "NVIDIA RTX PRO 6000 Blackwell Server Edition": "Blackwell GDDR",
		"NVIDIA H200": "Hopper", "NVIDIA L40S": "Ada",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestQueueBehindRunning holds that requests that must wait for others wait whole waves of them.
func TestQueueBehindRunning(t *testing.T) {
	c := ideal()
	q := Query{
		Profile: profile(t, "Llama-3.1-8B", v1alpha1.BF16), Device: product(t, "NVIDIA H200"),
		Workload: Workload{Input: 1000, Output: 100, Concurrency: 8},
	}
	alone := Serve(&q, &c)
	q.Workload.Clients = 24
	queued := Serve(&q, &c)
	if least := alone.TTFT + 2*100*alone.TPOT; queued.TTFT < least {
		t.Errorf("first token after %v s behind two waves that take at least %v s", queued.TTFT, least)
	}
}

// TestEmbedded holds the constants that are built in to what they mean: a share of a peak is not above it by more than the
// peak is uncertain, and no time is above a millisecond a layer.
func TestEmbedded(t *testing.T) {
	calibrated, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(calibrated.Families) < 10 {
		t.Fatalf("%d families", len(calibrated.Families))
	}
	for _, m := range calibrated.Families {
		c := calibrated.Constants(m.Family)
		for _, share := range []Constant{WeightShare, CacheShare, LinearShare16, LinearShare8, LinearShare4, AttentionShare, StageShare, WaveShare, ArrivalShare} {
			if c[share] <= 0 || c[share] > 1.5 {
				t.Errorf("%v: %s is %g", m.Family, share, c[share])
			}
		}
		for _, seconds := range []Constant{LayerSeconds, MixtureSeconds, ReduceSeconds, HostReduceSeconds} {
			if c[seconds] <= 0 || c[seconds] > 1e-3 {
				t.Errorf("%v: %s is %g", m.Family, seconds, c[seconds])
			}
		}
	}
	data, err := Format(calibrated)
	if err != nil {
		t.Fatal(err)
	}
	again, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(calibrated, again, cmpopts.IgnoreUnexported(Calibration{})); diff != "" {
		t.Errorf("written and read (-want +got):\n%s", diff)
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ data, want string }{
		{`{`, "unexpected end"},
		{`{"constants": ["speed"]}`, "fit them again"},
	} {
		if _, err := parse([]byte(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one about %q", test.data, err, test.want)
		}
	}
}

func TestCheck(t *testing.T) {
	good := Query{Profile: profile(t, "Llama-3.1-8B", v1alpha1.BF16), Device: product(t, "NVIDIA H200")}
	for _, test := range []struct {
		name string
		with func(*Query)
		want string
	}{
		{"good", func(*Query) {}, ""},
		{"no profile", func(q *Query) { q.Profile = nil }, "NewProfile"},
		{"no device", func(q *Query) { q.Device = nil }, "catalogue"},
		{"unknown rates", func(q *Query) { q.Device = &Device{Bandwidth: 1} }, "peak rate"},
		{"negative degree", func(q *Query) { q.Strategy.Tensor = -2 }, "tensor: -2"},
		{"huge degree", func(q *Query) { q.Strategy.Expert = 1 << 40 }, "expert: 1099511627776"},
		{"no number", func(q *Query) { q.Workload.Input = math.NaN() }, "input: NaN"},
		{"negative", func(q *Query) { q.Workload.Concurrency = -1 }, "concurrency: -1"},
		{"infinite", func(q *Query) { q.Workload.Requests = math.Inf(1) }, "requests: +Inf"},
	} {
		q := good
		test.with(&q)
		err := q.Check()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

// TestSane holds, on any query that passes its check, that times are finite and positive, and that neither more bandwidth
// nor fewer running requests make a token slower.
func TestSane(t *testing.T) {
	calibrated, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	names := model.Names()
	products := accelerator.Products()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(products).Draw(t, "product")
		d := NewDevice(&p)
		m, err := model.Lookup(rapid.SampledFrom(names).Draw(t, "model"))
		if err != nil {
			t.Fatal(err)
		}
		weights := rapid.SampledFrom([]v1alpha1.Precision{v1alpha1.BF16, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.NVFP4, v1alpha1.MXFP4}).Draw(t, "weights")
		degree := rapid.SampledFrom([]int{0, 1, 2, 3, 4, 8, 16, maxDegree})
		number := rapid.Float64Range(0, 1e6)
		q := Query{
			Profile: NewProfile(m, Stored(m, weights, "")), Device: &d,
			Strategy: Strategy{degree.Draw(t, "tensor"), degree.Draw(t, "pipeline"), degree.Draw(t, "data"), degree.Draw(t, "expert"), degree.Draw(t, "decode"), degree.Draw(t, "islands")},
			Workload: Workload{Input: number.Draw(t, "in"), Output: number.Draw(t, "out"), Concurrency: number.Draw(t, "concurrency"), Clients: number.Draw(t, "clients"), MaxBatchedTokens: number.Draw(t, "batched"), Requests: number.Draw(t, "requests"), Again: number.Draw(t, "again")},
		}
		if q.Check() != nil {
			t.Skip("the device's rates are not known")
		}
		c := calibrated.Constants(Family{d.Architecture, VLLM, q.Profile.Class()})
		got := Serve(&q, &c)
		for _, v := range []float64{got.TTFT, got.TPOT, got.OutputTokensPerSecond} {
			if !(v > 0) || math.IsInf(v, 0) {
				t.Fatalf("%+v", got)
			}
		}
		fast := d
		fast.Bandwidth *= 2
		with := q
		with.Device = &fast
		if faster := Serve(&with, &c); faster.TPOT > got.TPOT*(1+1e-9) {
			t.Fatalf("a token takes %v s, with twice the bandwidth %v s", got.TPOT, faster.TPOT)
		}
		with = q
		with.Workload.Concurrency /= 2
		if fewer := Serve(&with, &c); fewer.TPOT > got.TPOT*(1+1e-9) {
			t.Fatalf("a token takes %v s, with half the requests %v s", got.TPOT, fewer.TPOT)
		}
	})
}

func TestEvaluationDoesNotAllocate(t *testing.T) {
	e, q := evaluation(t)
	if n := testing.AllocsPerRun(100, func() { e.Serve(q) }); n != 0 {
		t.Errorf("%v allocations an evaluation", n)
	}
}

func evaluation(t testing.TB) (*Estimator, *Query) {
	calibrated, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	q := &Query{
		Profile: profile(t, "DeepSeek-R1", v1alpha1.NVFP4), Device: product(t, "NVIDIA B200"),
		Strategy: Strategy{Tensor: 2, Pipeline: 2, AttentionData: 4, Expert: 8},
		Workload: Workload{Input: 2048, Output: 512, Concurrency: 256, Requests: 1000},
	}
	return calibrated.Estimator(Family{"Blackwell", TensorRTLLM, Latent}), q
}

func BenchmarkServe(b *testing.B) {
	e, q := evaluation(b)
	b.ReportAllocs()
	for b.Loop() {
		e.Serve(q)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(constantsJSON)
	f.Add([]byte(`{"constants": []}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse(data)
		if err != nil {
			return
		}
		c.Estimator(Family{"Hopper", VLLM, Dense})
	})
}
