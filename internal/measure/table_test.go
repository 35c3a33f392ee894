package measure

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rankwright/rankwright/internal/measure/measuretest"
)

func TestTableIsReplacedAsAWhole(t *testing.T) {
	registry := prometheus.NewRegistry()
	table := For(prometheus.WrapRegistererWith(prometheus.Labels{"node": "n"}, registry)).Table("things", "Things.", "kind")
	For(nil).Table("unregistered", "Nothing.").Set(nil)
	if got := measuretest.Series(t, registry, ""); len(got) != 0 {
		t.Errorf("a table that was not set has %v", got)
	}
	table.Set([]Row{{1, []string{"a"}}, {2, []string{"b"}}})
	table.Set([]Row{{3, []string{"b"}}})
	if got := measuretest.Series(t, registry, ""); len(got) != 1 || got[0] != "rankwright_things{kind=b,node=n} 3" {
		t.Errorf("got %v, want the last row alone", got)
	}
}
