package calibration

import (
	"math"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

const (
	rounds     = 40
	tries      = 8    // of a step, with more damping each
	difference = 1e-4 // of a logarithm, for derivatives
	settled    = 5e-4 // relative gain at which the fit ends
)

// Fit finds the constants that explain the observations best: least squares of the logarithms of estimate over
// measurement, with outliers counted less and the priors as further rows, by Levenberg and Marquardt's method. It starts
// at the priors, so that nothing but the observations and their order has an influence.
func Fit(observations []truth.Observation) *cost.Calibration {
	p := newProblem(observations)
	return p.calibration(smallest(p, p.unknowns()))
}

// squares is a sum of squares, or nearly so, to make small.
type squares interface {
	// loss is the sum at x.
	loss(x []float64) float64
	// normal is the matrix and the right side of the normal equations at x.
	normal(x []float64) (h [][]float64, g []float64)
}

// smallest returns where a sum of so many unknowns is smallest, by Levenberg and Marquardt's method from 0.
func smallest(p squares, unknowns int) []float64 {
	x := make([]float64, unknowns)
	damping, last := 1e-3, p.loss(x)
	for range rounds {
		h, g := p.normal(x)
		gain := 0.0
		for range tries {
			trial := step(h, g, x, damping)
			if loss := p.loss(trial); loss < last {
				gain = last - loss
				x, last, damping = trial, loss, damping/5
				break
			}
			damping *= 5
		}
		if gain < settled*last {
			break
		}
	}
	return x
}

func (p *problem) loss(x []float64) float64 {
	sum := 0.0
	for i := range p.observations {
		o := &p.observations[i]
		l := p.logarithms(x, p.blocks(&o.Family))
		c := values(&l)
		sum += p.weights[i] * rho(math.Log(o.Estimate(&c)/o.Measured)/noise[o.Quantity])
	}
	for i, v := range x {
		w := p.prior(i)
		sum += v * v / (w * w)
	}
	return sum
}

// rho is a smooth form of Huber's loss: square for small residuals, linear for large ones.
func rho(r float64) float64 { return 2 * (math.Sqrt(1+r*r) - 1) }

// prior is the width of an unknown's prior.
func (p *problem) prior(i int) float64 {
	width := offsetPrior
	switch part := p.parts[i/constants]; {
	case part == cost.Family{}:
		width = basePrior
	case part.Architecture != "" && part.Engine != "":
		width = familyPrior
	}
	if f := firmness[i%constants]; f > 0 {
		width *= f
	}
	return width
}

func (p *problem) normal(x []float64) (h [][]float64, g []float64) {
	n := len(x)
	h, g = make([][]float64, n), make([]float64, n)
	for i := range h {
		h[i] = make([]float64, n)
		w := p.prior(i)
		h[i][i], g[i] = 1/(w*w), -x[i]/(w*w)
	}
	for k := range p.observations {
		o := &p.observations[k]
		blocks := p.blocks(&o.Family)
		l := p.logarithms(x, blocks)
		r, d := residual(o, l)
		scale := noise[o.Quantity]
		weight := p.weights[k] / (scale * scale * math.Sqrt(1+r*r/(scale*scale)))
		for _, a := range blocks {
			for i, di := range d {
				if di == 0 {
					continue
				}
				g[a+i] -= weight * r * di
				for _, b := range blocks {
					row := h[a+i][b : b+constants]
					for j, dj := range d {
						row[j] += weight * di * dj
					}
				}
			}
		}
	}
	return h, g
}

// residual is the logarithm of estimate over measurement, and its derivatives by the logarithms of the constants.
func residual(o *truth.Observation, l cost.Logarithms) (r float64, d [constants]float64) {
	c := values(&l)
	r = math.Log(o.Estimate(&c) / o.Measured)
	for i := range d {
		moved := c
		moved[i] *= 1 + difference
		d[i] = (math.Log(o.Estimate(&moved)/o.Measured) - r) / difference
	}
	return r, d
}

// step solves the damped equations by Cholesky's method and returns x with the step added. The factor is kept by columns, so that the sums of a row
// grow side by side: each in turn would wait for its own last addition.
func step(h [][]float64, g, x []float64, damping float64) []float64 {
	n := len(x)
	factor := make([][]float64, n)
	for i := range factor {
		factor[i] = make([]float64, n)
		sums := make([]float64, i+1)
		for k, column := range factor[:i] {
			v := (h[i][k] - sums[k]) / column[k]
			column[i] = v
			below := column[k+1 : i+1]
			rest := sums[k+1:][:len(below)]
			for j, of := range below {
				rest[j] += v * of
			}
		}
		factor[i][i] = math.Sqrt(max(h[i][i]*(1+damping)-sums[i], 1e-12))
	}
	y := make([]float64, n)
	for i := range y {
		sum := 0.0
		for k, column := range factor[:i] {
			sum += column[i] * y[k]
		}
		y[i] = (g[i] - sum) / factor[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		y[i] /= factor[i][i]
		for j, column := range factor[:i] {
			y[j] -= column[i] * y[i]
		}
		y[i] += x[i]
	}
	return y
}
