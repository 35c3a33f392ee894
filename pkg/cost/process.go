package cost

import "math"

// shares are the variances of the logarithms of measured over estimated times that queries share, and noise that of a measurement alone.
type shares struct{ engine, device, model, near, noise float64 }

// Chosen among a few on the measurements to which constants are fitted, by the errors and ranges of sites that were left out of the fit and of which
// three runs were given; they are flat there: half or twice as much changes errors by a hundredth. Together they are what such sites differ
// by from estimates: standard deviations of 0.3 and 0.85.
var (
	paceShares  = shares{engine: 0.01, device: 0.01, model: 0.01, near: 0.06, noise: 0.008}
	firstShares = shares{engine: 0.1, device: 0.1, model: 0.1, near: 0.4, noise: 0.02}
)

const (
	// agreeing is the correlation of what a rate and a time per token add beside each other: they are measured by other clocks.
	agreeing = 0.8
	// arriving is the correlation of what requests that arrive at random under a limit, and such as come as others end, differ by. MLPerf's submitters measured
	// both on 12 pairs of a model and a product (Server and Offline): they differ by 0.17 and 0.30 from estimates and by 0.18 from each other, in the root mean
	// square of logarithms.
	arriving = 0.75
	// nearby is the square of the distance, in the units of position, that is a standard deviation of what neighbours share.
	nearby = 4.0
	// believed is how many measurements the variances above weigh as much as.
	believed = 4.0
	// student over the degrees of freedom is how much further Student's quantile of 87 in 100 lies than the normal one, which is at 1.51 standard
	// deviations: Cornish and Fisher's expansion, (1.51² + 1) / 4.
	student = 0.82
)

// spot is where a query lies.
type spot struct {
	engine Engine
	// product and model are numbers among what a site measured; the model's is of the model on the product, and -1 stands for what was not measured.
	product, model int
	at             position
	arriving       bool
	figure         Figure
}

// subjectOf is the model of a query on its product, which has no name for stages on unequal devices.
func subjectOf(q *Query) subject {
	s := subject{makeup: q.Profile.makeup()}
	if q.Device != nil && len(q.Stages) == 0 {
		s.product = q.Device.Product
	}
	return s
}

// spot is where a query lies among what was measured.
func (s *Site) spot(engine Engine, q *Query, f Figure) spot {
	formats, reach, of := q.Profile.formats(), q.reach(), subjectOf(q)
	at := spot{engine: engine, product: -1, model: -1, at: positionOf(&formats, &reach, q.Workload.Load()), arriving: q.Workload.Arriving, figure: f}
	for i := range s.known {
		if s.known[i].product != of.product {
			continue
		}
		if at.product < 0 {
			at.product = i
		}
		if s.known[i].makeup == of.makeup {
			at.model = i
			break
		}
	}
	return at
}

// process is a Gaussian process with what was measured of it.
type process struct {
	*shares
	spots  []spot
	offs   []float64
	doubts []float64

	weights []float64   // of the spots in a mean
	factor  [][]float64 // Cholesky's, of the covariance of what was measured
	scale   float64     // of standard deviations, by how far what was measured is from what was expected
}

func (p *process) add(s *spot, off, doubt float64) {
	p.spots, p.offs, p.doubts = append(p.spots, *s), append(p.offs, off), append(p.doubts, doubt)
}

// covariance is what two spots share.
func (p *process) covariance(a, b *spot) float64 {
	if a.figure != b.figure {
		return agreeing * p.shared(a, b)
	}
	return p.shared(a, b)
}

// shared is the covariance of two spots, if it were of the same figure.
func (p *process) shared(a, b *spot) float64 {
	if a.engine != b.engine {
		return 0
	}
	c := p.engine
	if a.product == b.product && a.product >= 0 {
		c += p.device
		if a.model == b.model && a.model >= 0 {
			c += p.model + p.near*math.Exp(-a.at.square(&b.at)/(2*nearby))
		}
	}
	if a.arriving != b.arriving {
		c *= arriving
	}
	return c
}

// square returns the square of a distance.
func (p *position) square(to *position) float64 {
	sum := 0.0
	for i, x := range p.degrees {
		sum += (x - to.degrees[i]) * (x - to.degrees[i])
	}
	for i, x := range p.load {
		sum += (x - to.load[i]) * (x - to.load[i])
	}
	return sum
}

// prior is the variance of what one measurement at a spot differs by, before any is known.
func (p *process) prior() float64 { return p.engine + p.device + p.model + p.near + p.noise }

// solve computes the weights of what was added. The scale is the root of the mean square of what was measured in units of what was expected, in
// which the expectation counts as some measurements too (an inverse gamma prior).
func (p *process) solve() {
	n := len(p.spots)
	p.factor = make([][]float64, n)
	for i := range p.factor {
		row := make([]float64, i+1)
		for j := range row {
			row[j] = p.covariance(&p.spots[i], &p.spots[j])
		}
		row[i] += p.noise + p.doubts[i]
		for j, above := range p.factor[:i] {
			row[j] = (row[j] - dot(row[:j], above)) / above[j]
		}
		row[i] = math.Sqrt(row[i] - dot(row[:i], row))
		p.factor[i] = row
	}
	white := p.whitened(p.offs)
	p.scale = math.Sqrt((believed + dot(white, white)) / (believed + float64(n)))
	p.weights = white
	for i := n - 1; i >= 0; i-- {
		p.weights[i] /= p.factor[i][i]
		for j := range i {
			p.weights[j] -= p.factor[i][j] * p.weights[i]
		}
	}
}

// whitened solves the factor for a vector.
func (p *process) whitened(v []float64) []float64 {
	w := make([]float64, len(v))
	for i, row := range p.factor {
		w[i] = (v[i] - dot(row[:i], w)) / row[i]
	}
	return w
}

// dot is the inner product over the shorter of two vectors.
func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range min(len(a), len(b)) {
		sum += a[i] * b[i]
	}
	return sum
}

// means are what is expected of each figure where a spot is.
func (p *process) means(s *spot) (of [figures]float64) {
	for i := range p.spots {
		x := &p.spots[i]
		c := p.weights[i] * p.shared(x, s)
		for figure := range of {
			if Figure(figure) == x.figure {
				of[figure] += c
			} else {
				of[figure] += agreeing * c
			}
		}
	}
	return of
}

// left is the share of the standard deviation at a spot that is left; 1 where nothing that was measured says anything of it.
func (p *process) left(s *spot) float64 {
	variance := p.prior()
	if known := p.known(s, s); known > 0 {
		return math.Sqrt(1-known/variance) * p.scale * (1 + student/(believed+float64(len(p.spots))))
	}
	return 1
}

// known is the part of the covariance of two spots that what was measured accounts for.
func (p *process) known(a, b *spot) float64 {
	if len(p.spots) == 0 {
		return 0
	}
	of := func(s *spot) []float64 {
		v := make([]float64, len(p.spots))
		for i := range v {
			v[i] = p.covariance(&p.spots[i], s)
		}
		return p.whitened(v)
	}
	return dot(of(a), of(b))
}
