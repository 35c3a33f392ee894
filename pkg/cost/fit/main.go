package main

import (
	"flag"
	"fmt"
	"math"
	"os"

	"github.com/rankwright/rankwright/pkg/cost/internal/calibration"
	"github.com/rankwright/rankwright/pkg/cost/internal/truth"
)

func main() {
	folder := flag.String("truth", "/work/shared/truth", "")
	loo := flag.Bool("loo", false, "")
	noix := flag.Bool("noix", false, "")
	show := flag.Bool("show", false, "")
	flag.Parse()
	only := flag.Lookup("only")
	_ = only
	trt, err := truth.TensorRTLLM(*folder)
	check(err)
	ix, err := truth.InferenceX(*folder)
	check(err)
	if *noix {
		ix = nil
	}
	ml, err := truth.MLPerf(*folder)
	check(err)
	mg, err := truth.Megatron(*folder)
	check(err)
	all := append(append([]truth.Observation{}, trt...), ix...)
	all = append(append(all, ml...), mg...)
	type K = func(*truth.Observation) bool
	q := func(tab string, qn truth.Quantity, h func(o *truth.Observation) bool) K {
		return func(o *truth.Observation) bool { return o.Table == tab && o.Quantity == qn && h(o) }
	}
	for fold := 0; fold < 2; fold++ {
		held := func(o *truth.Observation) bool { return o.Held() == (fold == 0) }
		tr := func(o *truth.Observation) bool { return !held(o) }
		var train []truth.Observation
		for _, o := range all {
			if tr(&o) && !o.Reported {
				train = append(train, o)
			}
		}
		c := calibration.Fit(train)
		for _, x := range []struct {
			t string
			q truth.Quantity
		}{{"trtllm", truth.Throughput}, {"inferencex", truth.TPOT}, {"inferencex", truth.TTFT}, {"mlperf Offline", truth.Throughput}, {"mlperf Server", truth.Throughput}, {"mlperf Interactive", truth.Throughput}, {"megatron", truth.TrainingRate}} {
			a, b := calibration.Errors(all, c, q(x.t, x.q, tr)), calibration.Errors(all, c, q(x.t, x.q, held))
			fmt.Printf("%s %d: train %d %.1f%% (80%%: %.1f) test %d %.1f%% (80%%: %.1f)\n", x.t, x.q, len(a), 100*calibration.Quantile(a, .5), 100*calibration.Quantile(a, .8), len(b), 100*calibration.Quantile(b, .5), 100*calibration.Quantile(b, .8))
		}
		fmt.Printf("choice train %+v\n  test %+v\n", calibration.Choose(all, c, q("trtllm", truth.Throughput, tr)), calibration.Choose(all, c, q("trtllm", truth.Throughput, held)))
		fmt.Printf("limits train %+v test %+v\n", calibration.ChooseUnder(all, c, []float64{.05, .03, .02, .012}, tr), calibration.ChooseUnder(all, c, []float64{.05, .03, .02, .012}, held))
		if *show && fold == 0 {
			for i, n := range c.Base {
				fmt.Printf("%-18d %8.3g", i, exp(n))
				for k, v := range c.Architectures {
					fmt.Printf(" %s %+.2f", k[max(0, len(k)-4):], v[i])
				}
				for k, v := range c.Engines {
					fmt.Printf(" %s %+.2f", k, v[i])
				}
				for k, v := range c.Classes {
					fmt.Printf(" %s %+.2f", k, v[i])
				}
				fmt.Println()
			}
			// worst by group of (model gpu tp)
			type S struct{ list []float64 }
			m := map[string]*S{}
			var keys []string
			for i := range all {
				o := &all[i]
				cc := c.Constants(o.Family)
				k := fmt.Sprintf("%s q%d %s %s %s tp%d pp%d ep%d dp%d", o.Table, o.Quantity, o.Model, o.GPU, o.Family.Engine, o.Query.Strategy.Tensor, o.Query.Strategy.Pipeline, o.Query.Strategy.Expert, o.Query.Strategy.AttentionData)
				if m[k] == nil {
					m[k] = &S{}
					keys = append(keys, k)
				}
				m[k].list = append(m[k].list, o.Estimate(&cc)/o.Measured)
				if o.Table != "inferencex" {
					fmt.Printf("ROW %v %s C=%.0f meas %.0f est/meas %.2f\n", o.Held(), o.Cell, o.Query.Workload.Concurrency, o.Measured, o.Estimate(&cc)/o.Measured)
				}
			}
			for _, k := range keys {
				fmt.Printf("GRP %s n=%d %.2f [%.2f %.2f]\n", k, len(m[k].list), calibration.Quantile(m[k].list, .5), calibration.Quantile(m[k].list, .1), calibration.Quantile(m[k].list, .9))
			}
		}
	}
	if *loo {
		for _, by := range []func(o *truth.Observation) string{func(o *truth.Observation) string { return o.Model }, func(o *truth.Observation) string { return o.GPU }} {
			seen := map[string]bool{}
			errs := map[string][]float64{}
			for i := range all {
				k := by(&all[i])
				if seen[k] {
					continue
				}
				seen[k] = true
				var train []truth.Observation
				for _, o := range all {
					if by(&o) != k {
						train = append(train, o)
					}
				}
				c := calibration.Fit(train)
				fmt.Printf("  without %s:", k)
				for _, x := range []struct {
					t string
					q truth.Quantity
				}{{"trtllm", truth.Throughput}, {"inferencex", truth.TPOT}, {"inferencex", truth.TTFT}} {
					e := calibration.Errors(all, c, q(x.t, x.q, func(o *truth.Observation) bool { return by(o) == k }))
					kk := fmt.Sprint(x.t, x.q)
					errs[kk] = append(errs[kk], e...)
					fmt.Printf(" %d %.1f%%", len(e), 100*calibration.Quantile(e, .5))
					var sg []float64
					for i := range all {
						o := &all[i]
						if by(o) == k && o.Table == x.t && o.Quantity == x.q {
							cc := c.Constants(o.Family)
							sg = append(sg, o.Estimate(&cc)/o.Measured)
						}
					}
					fmt.Printf(" (%.2f)", calibration.Quantile(sg, .5))
				}
				fmt.Println()
			}
			for k, e := range errs {
				fmt.Printf("LOO %s %.1f%%\n", k, 100*calibration.Quantile(e, .5))
			}
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func exp(x float64) float64 { return math.Exp(x) }
