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
// is held to what is possible: builds of engines, convoys and queues move it from load to load, so that even one offset which all runs of a site gave leaves much. What is left where all
// other runs of a site are measured says that it is three runs that do not tell, and not how they are made use of.
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
			for kind, s := range scores {
				if s.first {
					s.known = append(s.known, known(c, firsts(sites[name], kind))...)
					s.chosen = append(s.chosen, chosen(c, firsts(sites[name], kind))...)
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
				figure.Report(subject, kind+", median error with all other runs of the site measured", fmt.Sprintf("%.1f %% of %d", 100*calibration.Quantile(s.known, 0.5), len(s.known))).Hold(t)
				figure.Report(subject, kind+", median error where the three runs were chosen to leave the least doubt", fmt.Sprintf("%.1f %% of %d", 100*calibration.Quantile(s.chosen, 0.5), len(s.chosen))).Hold(t)
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

// sited are the errors of rows of sites. The best ones are with the median offset of all rows of a site, those that are estimated included; the known ones with
// all other runs of the site measured, the chosen ones with three that were not drawn but chosen.
type sited struct {
	before, after, best, known, chosen, widths, wide []float64
	inside                                           int
	first                                            bool
	sites                                            int
	drawn                                            bool // of the site that is looked at
}

// draws is how often three runs of a site are drawn.
const draws = 4

// fewest is how many runs a site has at least.
const fewest = 5

// score measures three runs of a site that a hash draws, and estimates the others.
func score(scores map[string]*sited, c *cost.Calibration, site []*truth.Observation, seed string) {
	cells := cellsOf(site)
	if len(cells) < fewest {
		return
	}
	slices.SortFunc(cells, func(a, b string) int { return cmp.Compare(drawn(seed, a), drawn(seed, b)) })
	measured := func(o *truth.Observation) bool { return slices.Contains(cells[:3], runOf(o)) }
	var samples []cost.Sample
	for _, o := range site {
		if measured(o) {
			samples = append(samples, sample(c, o))
		}
	}
	offset := offsets(c, site)
	with := c.At(cost.NewSite("test", samples))
	for _, o := range site {
		if measured(o) {
			continue
		}
		kind := kindOf(o)
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

// firsts are the times to the first token of a site, where they are of a kind and enough.
func firsts(site []*truth.Observation, kind string) []*truth.Observation {
	list := slices.DeleteFunc(slices.Clone(site), func(o *truth.Observation) bool { return o.Quantity != truth.TTFT || kindOf(o) != kind })
	if len(cellsOf(list)) < fewest {
		return nil
	}
	return list
}

// known is how far each run of a site is off with all its other runs measured.
func known(c *cost.Calibration, site []*truth.Observation) (off []float64) {
	for _, cell := range cellsOf(site) {
		off = append(off, rest(c, site, func(o *truth.Observation) bool { return runOf(o) != cell })...)
	}
	return off
}

// candidates is among how many runs three are chosen.
const candidates = 48

// chosen is how far the other runs of a site are off with three measured that leave the least doubt of all. What they will measure is not known when they are chosen.
func chosen(c *cost.Calibration, site []*truth.Observation) []float64 {
	var runs []*truth.Observation
	for _, cell := range cellsOf(site) {
		runs = append(runs, site[slices.IndexFunc(site, func(o *truth.Observation) bool { return runOf(o) == cell })])
	}
	for i := 0; len(runs) > candidates; i = (i + 1) % len(runs) {
		runs = slices.Delete(runs, i, i+1)
	}
	var picked []*truth.Observation
	for range min(3, len(runs)) {
		picked = append(picked, slices.MinFunc(runs, func(a, b *truth.Observation) int {
			return cmp.Compare(doubt(c, runs, append(slices.Clone(picked), a)), doubt(c, runs, append(slices.Clone(picked), b)))
		}))
	}
	return rest(c, site, func(o *truth.Observation) bool {
		return slices.ContainsFunc(picked, func(p *truth.Observation) bool { return runOf(p) == runOf(o) })
	})
}

// doubt is how wide the ranges of runs are with some of them measured, whatever that gave.
func doubt(c *cost.Calibration, runs, measured []*truth.Observation) (sum float64) {
	var samples []cost.Sample
	for _, o := range measured {
		samples = append(samples, cost.Sample{Family: o.Family, Query: &o.Query, Figure: figureOf(o)})
	}
	with := c.At(cost.NewSite("test", samples))
	for _, o := range runs {
		r := estimated(with.Estimator(o.Family), o)
		sum += math.Log(r.High / r.Value)
	}
	return sum
}

// rest is how far the rows of a site are off that are not measured, with those that are.
func rest(c *cost.Calibration, site []*truth.Observation, measured func(*truth.Observation) bool) (off []float64) {
	var samples []cost.Sample
	for _, o := range site {
		if measured(o) {
			samples = append(samples, sample(c, o))
		}
	}
	with := c.At(cost.NewSite("test", samples))
	for _, o := range site {
		if !measured(o) {
			off = append(off, math.Abs(estimated(with.Estimator(o.Family), o).Value/o.Measured-1))
		}
	}
	return off
}

// kindOf is a laboratory and what it measured.
func kindOf(o *truth.Observation) string { return laboratory(o) + ", " + o.Quantity.String() }

// cellsOf are the runs of a site, each once.
func cellsOf(site []*truth.Observation) []string {
	var cells []string
	for _, o := range site {
		cells = append(cells, runOf(o))
	}
	slices.Sort(cells)
	return slices.Compact(cells)
}

// sample is a row of a site as it is measured there.
func sample(c *cost.Calibration, o *truth.Observation) cost.Sample {
	q := o.Query
	q.Workload.Arriving = o.Limit > 0
	return cost.Sample{Family: o.Family, Query: &q, Figure: figureOf(o), Off: math.Log(o.Measured / o.By(c.Estimator(o.Family)))}
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
