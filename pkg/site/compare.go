package site

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/estimate"
)

// Row is a figure that was measured, beside what is estimated.
type Row struct {
	*v1alpha1.Measurement
	// What names the figure, of which all numbers are in the unit.
	What, Unit                      string
	Measured, Estimated, FromOthers float64 // FromOthers is estimated with what all other measurements say; 0 where there are none
}

// Compare returns a row for each figure of measurements. The error names the measurement that cannot be estimated, and why.
func Compare(list []v1alpha1.Measurement, now time.Time) ([]Row, error) {
	var rows []Row
	for i := range list {
		m := &list[i]
		bare, err := Estimate(m, nil)
		if err == nil && !bare.Fits {
			err = fmt.Errorf("it ran, and is said not to fit: %s", bare.Reason)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s on %s: %w", m.Source.File, m.Model, m.Device, err)
		}
		others := v1alpha1.SiteCalibration{Spec: v1alpha1.SiteCalibrationSpec{Measurements: slices.Delete(slices.Clone(list), i, i+1)}}
		var from *estimate.Answer
		if site, _ := Compile([]v1alpha1.SiteCalibration{others}, now); site != nil {
			if from, err = Estimate(m, site); err != nil {
				return nil, err
			}
		}
		rows = append(rows, rowsOf(m, bare, from)...)
	}
	return rows, nil
}

// names of figures with their units, of which a second or a token per second has so many.
var figureNames = map[cost.Figure]struct {
	what, unit string
	times      float64
}{cost.Rate: {"throughput", "tokens/s", 1}, cost.PerToken: {"TPOT", "ms", 1e3}, cost.FirstToken: {"TTFT", "ms", 1e3}}

func rowsOf(m *v1alpha1.Measurement, bare, from *estimate.Answer) []Row {
	var rows []Row
	of := func(a *estimate.Answer, f cost.Figure) float64 {
		if a == nil || a.Site == nil && a != bare {
			return 0
		}
		return [...]float64{cost.Rate: *a.OutputTokensPerSecond, cost.PerToken: *a.TPOTMillis, cost.FirstToken: *a.TTFTMillis}[f]
	}
	for _, f := range figuresOf(m) {
		name := figureNames[f.figure]
		rows = append(rows, Row{m, name.what, name.unit, f.measured * name.times, of(bare, f.figure), of(from, f.figure)})
	}
	if m.CacheTokens > 0 {
		rows = append(rows, Row{m, "KV cache", "tokens", float64(m.CacheTokens), float64(bare.CacheTokens()), 0})
	}
	return rows
}

// Summary counts measurements.
func Summary(list []v1alpha1.Measurement) v1alpha1.CalibrationSummary {
	s := v1alpha1.CalibrationSummary{Measurements: int32(len(list))}
	var devices, models []string
	for i := range list {
		m := &list[i]
		devices, models = append(devices, m.Device), append(models, m.Model)
		if m.Source.Time.After(s.Newest.Time) {
			s.Newest = m.Source.Time
		}
	}
	joined := func(names []string) string {
		slices.Sort(names)
		return words.Shorten(strings.Join(slices.Compact(names), ", "), 256)
	}
	s.Devices, s.Models = joined(devices), joined(models)
	return s
}
