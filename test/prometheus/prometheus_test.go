package prometheus

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answers are the series of a query's answer, with their values.
func answers(t *testing.T, s *Storage, expr string, at time.Time) (lines []string) {
	t.Helper()
	found, err := s.Instant(expr, at)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range found {
		lines = append(lines, fmt.Sprint(one.Labels, " ", one.Value))
	}
	return lines
}

func TestWhatIsScrapedIsFound(t *testing.T) {
	const first = `# HELP held Always 1.
# TYPE held gauge
held{pod="a",namespace="team"} 1
held{pod="b",namespace="team"} 1
# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_bucket{step="plan",le="1"} 2
took_seconds_bucket{step="plan",le="+Inf"} 4
took_seconds_sum{step="plan"} 3
took_seconds_count{step="plan"} 4
`
	s, began := New(), time.Unix(1000, 0)
	target := map[string]string{"instance": "i", "namespace": "of-the-pod"}
	families, err := s.Scrape([]byte(first), began, target)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*Family{
		"held":         {Name: "held", Type: "gauge", Help: "Always 1.", Labels: map[string]bool{"pod": true, "namespace": true}},
		"took_seconds": {Name: "took_seconds", Type: "histogram", Help: "Time.", Labels: map[string]bool{"step": true}},
	}
	if diff := cmp.Diff(want, families); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
	rules := []Rule{{Record: "team:held:count", Expr: `count by (namespace, pod) (held)`}}
	if err := s.Record(rules, began); err != nil {
		t.Fatal(err)
	}
	later := began.Add(time.Minute)
	if _, err := s.Scrape([]byte("held{pod=\"a\",namespace=\"team\"} 1\ntook_seconds_count{step=\"plan\"} 64\n"), later, target); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(rules, later); err != nil {
		t.Fatal(err)
	}
	for expr, want := range map[string][]string{
		`held{namespace="team", instance="i"}`:                       {`{__name__="held", instance="i", namespace="team", pod="a"} 1`},
		`team:held:count`:                                            {`{__name__="team:held:count", namespace="team", pod="a"} 1`},
		`took_seconds_count - took_seconds_count offset 1m`:          {`{instance="i", namespace="of-the-pod", step="plan"} 60`},
		`histogram_quantile(0.5, rate(took_seconds_bucket[2m])) / 0`: nil, // there is no number to see
		`0 / (held - held)`:                                          nil,
	} {
		if diff := cmp.Diff(want, answers(t, s, expr, later)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", expr, diff)
		}
	}
}

func TestExpressionsAreTakenApart(t *testing.T) {
	const expr = `max(a{x="1"}) or sum by (y) (b unless c) or d`
	sides, err := Alternatives(expr)
	if diff := cmp.Diff([]string{`max(a{x="1"})`, `sum by (y) (b unless c)`, `d`}, sides); err != nil || diff != "" {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	selectors, err := Selectors(expr)
	if err != nil || len(selectors) != 4 || selectors[0].String() != `a{x="1"}` {
		t.Errorf("%v, selectors %v", err, selectors)
	}
}
