package calibration_test

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/test/figure"
	"github.com/rankwright/rankwright/tools/fit/calibration"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

// TestSitesOfEachThird fits constants to two thirds of the pairs of a model and a product, and takes the last third for sites that nobody knows:
// three runs of each, which a hash draws, are measured at the site, and the other runs of it are estimated with and without them. The time to the first token
// is held to what is possible: builds of engines, convoys and queues move it from load to load, so that even one offset which all runs of a site gave leaves much.
func TestSitesOfEachThird(t *testing.T) {
	all, built := measurements(t)
	all = slices.DeleteFunc(all, func(o truth.Observation) bool { return o.Reported })
	for third := range 3 {
		out := func(o *truth.Observation) bool { return int(drawn(o.Model, o.GPU))%3 == third }
		c := calibration.Calibrate(slices.DeleteFunc(slices.Clone(all), func(o truth.Observation) bool { return out(&o) }))
		ranged(c, built)
		sites := map[string][]*truth.Observation{}
		for i := range all {
			if o := &all[i]; out(o) {
				name := fmt.Sprint(laboratory(o), o.Model, o.GPU, o.Family.Engine)
				sites[name] = append(sites[name], o)
			}
		}
		scores := map[string]*sited{}
		for _, name := range slices.Sorted(maps.Keys(sites)) {
			for draw := range draws {
				score(scores, c, sites[name], fmt.Sprint(name, draw))
			}
			for _, s := range scores {
				if s.drawn {
					s.sites, s.drawn = s.sites+1, false
				}
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(scores)) {
			s := scores[kind]
			subject := fmt.Sprintf("sites of third %d, three runs of each measured", third+1)
			n, before, after := len(s.after), calibration.Quantile(s.before, 0.5), calibration.Quantile(s.after, 0.5)
			figure.Report(subject, kind+", median error without the site", fmt.Sprintf("%.1f %% of %d, sites: %d", 100*before, n, s.sites)).Hold(t)
			if s.first {
				best := calibration.Quantile(s.best, 0.5)
				figure.Report(subject, kind+", median error with one offset for each site that all of its runs gave", fmt.Sprintf("%.1f %% of %d", 100*best, n)).Hold(t)
				figure.Percent(subject, kind+", median error", after, asGood*best, n).Hold(t)
			} else {
				figure.Percent(subject, kind+", median error", after, 0.12, n).Hold(t)
			}
			figure.Share(subject, kind+": inside the ranges", float64(s.inside)/float64(n), 0.75, n).Hold(t)
			figure.Report(subject, kind+": median range", fmt.Sprintf("+%.0f %%, without the site +%.0f %%", 100*calibration.Quantile(s.widths, 0.5), 100*calibration.Quantile(s.wide, 0.5))).Hold(t)
		}
	}
}

// ranged gives the families of a calibration the ranges of the one that is built in, since finding its own takes a fit for each part that
// is left out.
func ranged(c, built *cost.Calibration) {
	c.Unmeasured = built.Unmeasured
	for i := range c.Families {
		c.Families[i].Widths = built.Unmeasured
		for j := range built.Families {
			if built.Families[j].Family == c.Families[i].Family {
				c.Families[i].Widths = built.Families[j].Widths
			}
		}
	}
}

// asGood is how far the error of the time to the first token after three runs may be from that with the best offset.
const asGood = 1.25

// sited are the errors of rows of sites. The best ones are with the median offset of all rows of a site, those that are estimated included.
type sited struct {
	before, after, best, widths, wide []float64
	inside                            int
	first                             bool
	sites                             int
	drawn                             bool // of the site that is looked at
}

// draws is how often three runs of a site are drawn.
const draws = 4

// score measures three runs of a site that a hash draws, and estimates the others.
func score(scores map[string]*sited, c *cost.Calibration, site []*truth.Observation, seed string) {
	var cells []string
	for _, o := range site {
		cells = append(cells, runOf(o))
	}
	slices.Sort(cells)
	if cells = slices.Compact(cells); len(cells) < 5 {
		return
	}
	slices.SortFunc(cells, func(a, b string) int { return cmp.Compare(drawn(seed, a), drawn(seed, b)) })
	measured := func(o *truth.Observation) bool { return slices.Contains(cells[:3], runOf(o)) }
	var samples []cost.Sample
	for _, o := range site {
		if measured(o) {
			off := math.Log(o.Measured / o.By(c.Estimator(o.Family)))
			q := o.Query
			q.Workload.Arriving = o.Limit > 0
			samples = append(samples, cost.Sample{Family: o.Family, Query: &q, Figure: figureOf(o), Off: off})
		}
	}
	offset := offsets(c, site)
	with := c.At(cost.NewSite("test", samples))
	for _, o := range site {
		if measured(o) {
			continue
		}
		kind := laboratory(o) + ", " + o.Quantity.String()
		s := scores[kind]
		if s == nil {
			s = &sited{first: o.Quantity == truth.TTFT}
			scores[kind] = s
		}
		s.drawn = true
		r, without := estimated(with.Estimator(o.Family), o), estimated(c.Estimator(o.Family), o)
		s.before = append(s.before, math.Abs(without.Value/o.Measured-1))
		s.after = append(s.after, math.Abs(r.Value/o.Measured-1))
		s.best = append(s.best, math.Abs(without.Value*offset[o.Quantity]/o.Measured-1))
		s.wide, s.widths = append(s.wide, without.High/without.Value-1), append(s.widths, r.High/r.Value-1)
		if r.Low <= o.Measured && o.Measured <= r.High {
			s.inside++
		}
	}
}

// offsets are the medians of what was measured over what is estimated without a site, of all of its runs.
func offsets(c *cost.Calibration, site []*truth.Observation) map[truth.Quantity]float64 {
	all := map[truth.Quantity][]float64{}
	for _, o := range site {
		all[o.Quantity] = append(all[o.Quantity], o.Measured/o.By(c.Estimator(o.Family)))
	}
	medians := map[truth.Quantity]float64{}
	for quantity, list := range all {
		medians[quantity] = calibration.Quantile(list, 0.5)
	}
	return medians
}

// runOf names a run, of which several figures may have been measured. Submissions of the same configuration are runs of their own.
func runOf(o *truth.Observation) string {
	if o.Quantity == truth.Throughput {
		return fmt.Sprint(o.Table, o.Cell, o.Measured)
	}
	return o.Table + o.Cell
}

func figureOf(o *truth.Observation) cost.Figure {
	return [...]cost.Figure{truth.Throughput: cost.Rate, truth.TPOT: cost.PerToken, truth.TTFT: cost.FirstToken}[o.Quantity]
}

// laboratory names who measured.
func laboratory(o *truth.Observation) string {
	if name := o.Table; len(name) > 6 && name[:6] == "mlperf" {
		return "mlperf"
	}
	return o.Table
}

// drawn is a number that words are drawn by.
func drawn(words ...string) uint32 {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, words)
	return h.Sum32() >> 7
}
