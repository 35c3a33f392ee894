package memory

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the fitted constants to constants.json")

// halves splits rows in two by their order: every second one fits, the others test. Rows of releases whose sampler is
// known to differ fit nothing.
func halves(rows []measured) (fit, test []measured) {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b measured) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Tensor, b.Tensor), cmp.Compare(a.Product, b.Product), cmp.Compare(a.Permille, b.Permille))
	})
	kept := 0
	for _, r := range rows {
		if r.NewSampler {
			test = append(test, r)
			continue
		}
		if kept%2 == 0 {
			fit = append(fit, r)
		} else {
			test = append(test, r)
		}
		kept++
	}
	return fit, test
}

// TestFit fits the constants on a half of the facts' table and of the published logs, compares them with the committed
// ones, and prints the errors on both halves. With -update it commits them.
func TestFit(t *testing.T) {
	fit, test := halves(truthRows(t))
	fitLogs, testLogs := halves(published(t))
	fit, test = append(fit, fitLogs...), append(test, testLogs...)

	got := fitConstants(t, fit)
	if *update {
		raw, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("constants.json", append(raw, '\n'), 0o644); err != nil { //nolint:gosec // a file of the source tree
			t.Fatal(err)
		}
	} else {
		want, err := fitted()
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("constants.json is not what the fit gives (-committed +fitted): run go test ./pkg/memory -run Fit -update\n%s", diff)
		}
	}
	t.Logf("constants: %+v", got)
	printErrors(t, "fitted on", fit, got)
	printErrors(t, "held out", test, got)
}

// fitConstants is a least-squares fit of the sampler's bytes through the origin, and the largest amounts outside the
// allocator, since too little of them is what makes an engine fail.
func fitConstants(t *testing.T, rows []measured) constants {
	t.Helper()
	var xy, xx, alone, peers float64
	used := 0
	for i := range rows {
		r := &rows[i]
		f, err := newWith(r.setup(t), r.device(), constants{SamplerCentibytes: 1})
		if err != nil {
			t.Fatal(err)
		}
		act := f.activations
		if bytes := r.ActivationsGiB * gib; bytes > 1.05*float64(act.forward()) {
			x, y := float64(act.sequences*act.vocabulary), bytes-float64(act.tokens*act.hidden*act.element)
			xy, xx = xy+x*y, xx+x*x
			used++
		}
		if r.Tensor > 1 {
			peers = max(peers, r.OutsideGiB)
		} else {
			alone = max(alone, r.OutsideGiB)
		}
	}
	if used < 2 {
		t.Fatalf("%d rows in which the sampler needs the most: too few to fit on", used)
	}
	return constants{
		SamplerCentibytes: int64(math.Round(100 * xy / xx)),
		OutsideBytes:      int64(math.Round(alone*1024)) * mib, CommunicationBytes: int64(math.Round((peers-alone)*1024)) * mib,
		Source: fmt.Sprintf("TestFit: %d rows, of which %d fit the sampler", len(rows), used),
	}
}

func printErrors(t *testing.T, title string, rows []measured, c constants) {
	t.Helper()
	for i := range rows {
		p := predict(t, &rows[i], c)
		r := &rows[i]
		t.Logf("%-9s %-14s tp%d %-24s weights %s  activations %s  cache %s", title, r.Model, r.Tensor, r.Product,
			against(p.weights, r.WeightsGiB), against(p.activations, r.ActivationsGiB), against(p.cache, r.CacheGiB))
	}
}

// prediction is in GiB.
type prediction struct{ weights, activations, cache float64 }

func predict(t *testing.T, r *measured, c constants) prediction {
	t.Helper()
	f, err := newWith(r.setup(t), r.device(), c)
	if err != nil {
		t.Fatal(err)
	}
	u, room := f.Use(0, f.Layers()), f.Room(0, f.Layers(), r.device())
	return prediction{float64(u.Weights) / gib, float64(u.Activations) / gib, float64(room.Free) / gib}
}

func against(got, want float64) string {
	if want == 0 {
		return fmt.Sprintf("%6.2f (not known)    ", got)
	}
	return fmt.Sprintf("%6.2f of %6.2f %+5.1f%%", got, want, 100*(got-want)/want)
}
