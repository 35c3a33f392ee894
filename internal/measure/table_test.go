package measure

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestTableIsReplacedAsAWhole(t *testing.T) {
	registry := prometheus.NewRegistry()
	table := For(prometheus.WrapRegistererWith(prometheus.Labels{"node": "n"}, registry)).Table("things", "Things.", "kind")
	For(nil).Table("unregistered", "Nothing.").Set(nil)
	series := func() map[string]float64 {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]float64{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				text := family.GetName()
				for _, l := range m.GetLabel() {
					text += " " + l.GetName() + "=" + l.GetValue()
				}
				found[text] = m.GetGauge().GetValue()
			}
		}
		return found
	}
	if got := series(); len(got) != 0 {
		t.Errorf("a table that was not set has %v", got)
	}
	table.Set([]Row{{1, []string{"a"}}, {2, []string{"b"}}})
	table.Set([]Row{{3, []string{"b"}}})
	if got := series(); len(got) != 1 || got["rankwright_things kind=b node=n"] != 3 {
		t.Errorf("got %v, want the last row alone", got)
	}
}
