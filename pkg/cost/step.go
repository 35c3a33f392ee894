package cost

import (
	"cmp"
	"math"
)

// Strategy is how one instance of a model is spread over devices. Degrees below 1 count as 1.
type Strategy struct {
	// Tensor ranks share out each matrix, Pipeline stages share out the layers.
	Tensor, Pipeline int
	// AttentionData is the degree of attention data parallelism: so many groups of tensor ranks each hold the attention
	// and divide the sequences among them, while the experts are spread over all groups.
	AttentionData int
	// Expert is how many of a stage's ranks whole experts are spread over; the width of the experts is split over the
	// rest.
	Expert int
	// DecodeContext is how many of the tensor ranks share out the tokens of the cache while decoding.
	DecodeContext int
	// Islands is how many islands the groups of AttentionData lie in, in equal parts. Islands reach each other over the
	// device's Network.
	Islands int
}

// degrees are the degrees of a strategy as numbers of at least 1.
type degrees struct {
	tensor, stages, data, expert, decode, islands, ranks float64
}

func (s Strategy) degrees() degrees {
	d := degrees{
		tensor: float64(max(1, s.Tensor)), stages: float64(max(1, s.Pipeline)),
		data: float64(max(1, s.AttentionData)), expert: float64(max(1, s.Expert)), decode: float64(max(1, s.DecodeContext)),
	}
	d.islands = min(float64(max(1, s.Islands)), d.data)
	d.ranks = d.tensor * d.data
	d.expert = min(d.expert, d.ranks)
	return d
}

// batch is the work of a step, over all attention-data-parallel groups.
type batch struct {
	sequences float64 // that decode a token each
	drafted   float64 // tokens of each sequence that are verified beside
	context   float64 // tokens they look back, in the mean
	prompt    float64 // tokens of prompts
	length    float64 // of the prompts that they are of
	found     float64 // tokens of these that were in the cache
	finished  float64 // prompts that end in the step
	patches   float64 // that encoders read for each of them
}

// decoded returns the tokens of sequences that a step computes.
func (b *batch) decoded() float64 { return b.sequences * (1 + b.drafted) }

// share returns one of n equal parts of a batch. A part that decodes has at least one sequence.
func (b batch) share(n float64) batch {
	if b.sequences > 0 {
		b.sequences = max(1, b.sequences/n)
	}
	b.prompt, b.finished = b.prompt/n, b.finished/n
	return b
}

// stepper is what all steps on one device have in common.
type stepper struct {
	p *Profile
	c *Constants
	degrees

	read                   float64 // bytes of weights per second
	cache                  float64 // bytes of keys and values per second
	compute                [4]float64
	padding                float64 // tokens in whose time an expert fills its tiles
	products               float64 // operations of attention per second
	link                   float64 // bytes per second that collectives reach between the ranks of a stage that share an island
	network                float64 // bytes per second that they reach between islands
	traffic                float64 // seconds of a layer for the residual stream of a token
	tensorStart, dataStart float64 // seconds before the first byte of a collective
	decodeStart            float64
	visits                 float64 // share of the tokens of all groups that visit an expert of a rank
	crossings              float64 // share of the tokens of other islands that visit an expert of a rank's island
	uneven                 uneven
	adapters, adapterRank  float64 // of a step at most
	eight                  bool    // the device computes in 8 bits
	tile                   float64 // rows of a tile that decodes beside prompts; 0 where that costs nothing
}

// linearShares are the constants of matrices by the width in which they are computed.
var linearShares = [4]Constant{bits16: LinearShare16, bits8: LinearShare8, bits4: LinearShare4, bits8Integer: LinearShare8}

func newStepper(p *Profile, d *Device, c *Constants, g degrees) stepper {
	s := stepper{
		p: p, c: c, degrees: g, read: d.Bandwidth * c[WeightShare], cache: d.Bandwidth * c[CacheShare],
		products: d.peak[bits16] * c[AttentionShare], visits: 1, crossings: 1, uneven: unevenOver(g.expert), eight: d.peak[bits8] > 0,
	}
	if !d.Vectors {
		s.padding = c[ExpertPadding]
	}
	for w := range s.compute {
		at := width(w)
		if d.peak[at] == 0 {
			at = bits16
		}
		s.compute[w] = d.peak[at] * c[linearShares[at]]
	}
	share, latency := c[LinkShare], c[ReduceSeconds]
	if d.HostLink {
		share, latency = c[HostLinkShare], c[HostReduceSeconds]
	}
	s.link, s.network = max(1, d.Link*share), max(1, cmp.Or(d.Network, d.Link)*c[HostLinkShare])
	s.traffic = p.hidden * 2 * c[Traffic] / s.read
	if g.tensor > 1 {
		s.traffic /= math.Sqrt(g.tensor)
		s.tensorStart = latency * math.Log2(g.tensor)
	}
	if g.decode > 1 {
		s.decodeStart = latency * math.Log2(g.decode)
	}
	if g.data > 1 {
		s.dataStart = latency*math.Log2(g.data/g.islands) + c[HostReduceSeconds]*math.Log2(g.islands)
		if g.expert > 1 {
			s.visits = -math.Expm1(p.experts.active * math.Log1p(-1/g.data))
			s.crossings = -math.Expm1(p.experts.active * math.Log1p(-1/g.islands))
		}
	}
	return s
}

// layerTimes are the seconds that a batch takes in one layer of each kind and at the ends of a model.
type layerTimes struct {
	mixers         [maxMixers]float64
	bare           float64 // without a feed-forward block
	dense, mixture float64
	encoder, head  float64
}

// times returns the seconds of a batch in each kind of layer.
func (s *stepper) times(b batch) layerTimes {
	total := b.decoded() + b.prompt
	if s.data > 1 {
		b.sequences, b.prompt, b.finished = b.sequences/s.data, b.prompt/s.data, b.finished/s.data
	}
	tokens := b.decoded() + b.prompt
	p := s.p
	layer, dense, mixture := s.launches()
	every := tokens*s.traffic + layer + s.collect(tokens) + s.merge(b.decoded()) + s.adapted(b.sequences, tokens)
	var t layerTimes
	for i := range p.mixers {
		t.mixers[i] = s.mix(&p.mixers[i], &b, tokens)
	}
	whole := p.whole()
	if whole.bare > 0 {
		t.bare = every
	}
	if whole.dense > 0 {
		t.dense = every + s.linear(&p.dense, tokens) + dense
	}
	if whole.mixture > 0 {
		t.mixture = every + s.linear(&p.shared, tokens) + s.route(total) + s.exchange(total) + mixture
	}
	if e := &p.encoder; e.positions > 0 && b.finished > 0 {
		t.encoder = s.linear(&e.block, b.finished*e.positions) + b.finished*e.products/s.products
	}
	t.encoder += s.linear(&p.towers, b.finished*b.patches)
	t.head = s.linear(&p.head, b.decoded()+b.finished)
	return t
}

// launches returns the seconds that starting its kernels takes in any layer, and what a dense block and a mixture add. Where a matrix is computed in 8 bits, a kernel of its own
// makes them of what it multiplies: before and after attention, and before each half of a feed-forward block.
func (s *stepper) launches() (layer, dense, mixture float64) {
	layer, mixture = s.c[LayerSeconds]*(1+s.p.kernels/layerKernels), s.c[MixtureSeconds]
	if !s.eight {
		return layer, 0, mixture
	}
	each := 2 * s.c[QuantizeSeconds]
	if s.p.mixers[0].projections.width == bits8 {
		layer += each
	}
	if s.p.dense.width == bits8 {
		dense += each
	}
	if s.p.experts.width == bits8 {
		mixture += each
	}
	return layer, dense, mixture
}

// layers returns the time of the counted layers.
func (t *layerTimes) layers(n *counts, kinds int) float64 {
	sum := n.bare*t.bare + n.dense*t.dense + n.mixture*t.mixture
	for i, seconds := range t.mixers[:kinds] {
		sum += n.mixers[i] * seconds
	}
	return sum
}

// run returns the time of a run of layers, with the head where it has the last layer and the encoder where it has the
// first.
func (s *stepper) run(t *layerTimes, first, end int) float64 {
	n := s.p.among(first, end)
	return s.p.withEnds(t.layers(&n, len(s.p.mixers)), t, first, end)
}

// withEnds adds the ends of the model that a run of layers includes to its time.
func (p *Profile) withEnds(seconds float64, t *layerTimes, first, end int) float64 {
	if first == 0 {
		seconds += t.encoder
	}
	if end == p.Layers() {
		seconds += t.head
	}
	return seconds
}

// soft returns a smooth maximum of two times: the cube root of the sum of their cubes.
func soft(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	r := b / a
	if a <= 0 || r < 1e-3 { // less than 4e-10 of a
		return a
	}
	return a * cubeRoot(1+r*r*r)
}

// cubeRoot returns the cube root of v, which must be from 1 to 2, to less than 1e-9: one step of Halley's method from a
// parabola. With math.Cbrt half the time of an evaluation would go to it.
func cubeRoot(v float64) float64 {
	y := 0.625687 + v*(0.433561-0.058362*v)
	cube := y * y * y
	return y * (cube + 2*v) / (2*cube + v)
}

func (s *stepper) linear(l *linear, tokens float64) float64 {
	weights := l.weights/s.tensor + l.copied
	if weights == 0 || tokens == 0 {
		return 0
	}
	return soft(weights*l.bytes/s.read, 2*weights*tokens/s.compute[l.width])
}

// mix returns the time of attention or recurrence with its projections.
func (s *stepper) mix(m *mixer, b *batch, tokens float64) float64 {
	t := s.linear(&m.projections, tokens)
	if m.state > 0 {
		moved := 2 * (b.sequences + b.finished) * m.state / s.tensor / s.cache
		t += soft(moved, tokens*m.operations/s.tensor/s.products)
	}
	if m.fixed == 0 && m.attended[0].per == 0 {
		return t
	}
	a := &s.p.attention
	heads := math.Ceil(a.heads / s.tensor)
	// Ranks that share out the tokens each have the queries of all of them, for their own tokens.
	share, queries := 1/s.decode, heads*s.decode
	kv := max(1, a.kvHeads/s.tensor)
	seen, reach := m.fixed, m.fixed
	for i := range m.attended {
		seen += m.attended[i].seen(b.context)
		reach += m.attended[i].after(b.found, b.length)
	}
	scored, scores := m.indexed.seen(b.context), m.indexed.after(b.found, b.length)
	read := b.sequences * (share*seen*kv*a.cached + scored*a.index.cached) * a.bytes / s.cache
	compute := b.decoded() * (share*seen*queries*a.decode*s.rows(b) + scored*a.index.operations) / s.products
	prompt := b.prompt * (reach*heads*a.prefill + scores*a.index.operations) / s.products
	return t + soft(read, compute) + prompt
}

// rows returns how many rows of a tile are computed for each head of a sequence that decodes. A latent has a kernel of its own for that.
func (s *stepper) rows(b *batch) float64 {
	if s.tile == 0 || b.prompt == 0 || s.p.attention.latent {
		return 1
	}
	return s.tile
}

// route returns the time of the routed experts on the fullest rank. A step reads only the experts that at least one of its tokens visits.
func (s *stepper) route(tokens float64) float64 {
	e := &s.p.experts
	if tokens == 0 {
		return 0
	}
	visited := -math.Expm1(e.missed * tokens)
	read := e.count * visited * e.weights * e.bytes / (s.ranks * s.read)
	visits := e.active * tokens
	compute := 2 * e.weights * (visits*s.uneven.of(visits)/s.c[ExpertShare] + s.padding*e.count*visited) / (s.ranks * s.compute[e.width])
	return soft(read, compute)
}
