package operation

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Measured returns the value of one series of a registry, by its name with labels in order of their names, as in `up{instance="a",job="b"}`: of a histogram how
// many observations there were. It is 0 where there is no such series.
func (w *World) Measured(registry prometheus.Gatherer, series string) float64 {
	w.Helper()
	families, err := registry.Gather()
	w.Must(err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := make([]string, len(m.GetLabel()))
			for i, l := range m.GetLabel() {
				labels[i] = fmt.Sprintf("%s=%q", l.GetName(), l.GetValue())
			}
			if fmt.Sprintf("%s{%s}", family.GetName(), strings.Join(labels, ",")) == series {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}
