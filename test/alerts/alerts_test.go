// Package alerts holds the alerts of the chart to what makes them fire, with Prometheus' own engine of queries.
package alerts

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rankwright/rankwright/test/prometheus"
)

const (
	rulesFile = "../../charts/rankwright/alerts.yaml"
	runbooks  = "../../docs/operate/alerts.md"
)

const (
	// scrape is the time between two samples, and hours is how long there are some.
	scrape = time.Minute
	hours  = 4 * time.Hour
)

// curve is what a series shows: a value at the beginning, and how much it grows with each scrape.
type curve struct{ from, growth float64 }

// world are series by their names with labels, as queries have them.
type world map[string]curve

func readRules(t *testing.T) []prometheus.Rule {
	t.Helper()
	rules, err := prometheus.ReadRules(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// well is a cluster in which nothing is wrong: two operators of which one leads, and agents on two nodes.
func well() world {
	return world{
		`rankwright_ledger_conflicts_total{instance="o1"}`:                                                                                                                                 {0, 0.1},
		`rankwright_ledger_conflicts_total{instance="o2"}`:                                                                                                                                 {0, 0},
		`rankwright_placements{instance="o1",placed="True",ready="True",reason="Running"}`:                                                                                                 {7, 0},
		`rankwright_placements{instance="o1",placed="False",ready="False",reason="Suspended"}`:                                                                                             {1, 0},
		`rankwright_placement_condition_since_timestamp_seconds{instance="o1",namespace="n",placement="p",condition="Placed",status="True",reason="Placed"}`:                               {1, 0},
		`rankwright_placement_condition_since_timestamp_seconds{instance="o1",namespace="n",placement="p",condition="Progressing",status="True",reason="WaitingForPods"}`:                  {1, 0},
		`rankwright_placement_condition_since_timestamp_seconds{instance="o1",namespace="n",placement="p",condition="Drifted",status="False",reason="AsPlanned"}`:                          {1, 0},
		`rankwright_placement_condition_since_timestamp_seconds{instance="o1",namespace="n",placement="refused",condition="Progressing",status="False",reason="ProgressDeadlineExceeded"}`: {1, 0},
		`rankwright_devices{instance="o1",vendor="nvidia",health="Healthy",holder="plan"}`:                                                                                                 {8, 0},
		`rankwright_devices{instance="o1",vendor="nvidia",health="Healthy",holder="none"}`:                                                                                                 {8, 0},
		`rankwright_placement_wait_seconds_bucket{instance="o1",position="1",le="5"}`:                                                                                                      {0, 1},
		`rankwright_placement_wait_seconds_bucket{instance="o1",position="1",le="60"}`:                                                                                                     {0, 1},
		`rankwright_placement_wait_seconds_bucket{instance="o1",position="1",le="300"}`:                                                                                                    {0, 1},
		`rankwright_placement_wait_seconds_bucket{instance="o1",position="1",le="+Inf"}`:                                                                                                   {0, 1},
		`controller_runtime_reconcile_errors_total{instance="o1",controller="placements"}`:                                                                                                 {3, 0.5},
		`controller_runtime_reconcile_errors_total{instance="another",controller="placements"}`:                                                                                            {3, 600},
		`rankwright_evictions_total{instance="o1",result="blocked"}`:                                                                                                                       {0, 1},
		`rankwright_evictions_total{instance="o1",result="evicted"}`:                                                                                                                       {0, 1},
		`rankwright_placements_as_estimated{instance="o1",status="False"}`:                                                                                                                 {0, 0},
		`rankwright_devices_in_repair{instance="o1",state="Failed"}`:                                                                                                                       {0, 0},
		`rankwright_mesh_verification_outcome{instance="o1",namespace="team",mesh="llm"}`:                                                                                                  {1, 0},
		`rankwright_mesh_verification_outcome{instance="o1",namespace="team",mesh="waits"}`:                                                                                                {-1, 0},
		`controller_runtime_webhook_latency_seconds_bucket{instance="o1",webhook="/bind",le="0.1"}`:                                                                                        {0, 10},
		`controller_runtime_webhook_latency_seconds_bucket{instance="o1",webhook="/bind",le="10"}`:                                                                                         {0, 10},
		`controller_runtime_webhook_latency_seconds_bucket{instance="o1",webhook="/bind",le="+Inf"}`:                                                                                       {0, 10},
		`rankwright_node_agent_backend_state{instance="n1",backend="nvml",state="Failed"}`:                                                                                                 {0, 0},
		`rankwright_node_agent_backend_state{instance="n1",backend="nvml",state="Found"}`:                                                                                                  {1, 0},
		`rankwright_node_agent_last_scan_timestamp_seconds{instance="n1"}`:                                                                                                                 {0, scrape.Seconds()},
	}
}

// faults are, by the alert that tells of them, what is different from a cluster in which nothing is wrong. Series that are nil are not there.
var faults = map[string]map[string]*curve{
	"RankwrightOperatorAbsent": {`rankwright_ledger_conflicts_total{instance="o1"}`: nil, `rankwright_ledger_conflicts_total{instance="o2"}`: nil},
	"RankwrightPlacementNotPlaced": {
		`rankwright_placements{instance="o1",placed="False",ready="False",reason="InsufficientDevices"}`: {2, 0},
		`rankwright_placements{instance="o2",placed="False",ready="False",reason="InsufficientDevices"}`: {2, 0},
	},
	"RankwrightPlacementStuck":         {`rankwright_placement_condition_since_timestamp_seconds{instance="o1",namespace="n",placement="p",condition="Progressing",status="False",reason="ProgressDeadlineExceeded"}`: {1, 0}},
	"RankwrightPlannedDeviceUnhealthy": {`rankwright_devices{instance="o1",vendor="nvidia",health="Unhealthy",holder="plan"}`: {1, 0}},
	"RankwrightDevicesUnhealthy":       {`rankwright_devices{instance="o1",vendor="nvidia",health="Unhealthy",holder="none"}`: {1, 0}},
	"RankwrightDecisionsSlow":          {`rankwright_placement_wait_seconds_bucket{instance="o1",position="1",le="5"}`: {0, 0.5}, `rankwright_placement_wait_seconds_bucket{instance="o1",position="1",le="60"}`: {0, 0.5}},
	"RankwrightLedgerContended":        {`rankwright_ledger_conflicts_total{instance="o1"}`: {0, 120}},
	"RankwrightOperatorFailing":        {`controller_runtime_reconcile_errors_total{instance="o1",controller="placements"}`: {3, 30}},
	"RankwrightEvictionsBlocked":       {`rankwright_evictions_total{instance="o1",result="evicted"}`: {9, 0}},
	"RankwrightSlowerThanEstimated":    {`rankwright_placements_as_estimated{instance="o1",status="False"}`: {1, 0}},
	"RankwrightPodsDrifted":            {`rankwright_placement_condition_since_timestamp_seconds{instance="o1",namespace="n",placement="p",condition="Drifted",status="True",reason="DevicesDiffer"}`: {1, 0}},
	"RankwrightRepairFailed":           {`rankwright_devices_in_repair{instance="o1",state="Failed"}`: {1, 0}},
	"RankwrightMeshFaulty":             {`rankwright_mesh_verification_outcome{instance="o1",namespace="team",mesh="llm"}`: {0, 0}},
	"RankwrightWebhookSlow":            {`controller_runtime_webhook_latency_seconds_bucket{instance="o1",webhook="/bind",le="0.1"}`: {0, 9}},
	"RankwrightBackendFailed":          {`rankwright_node_agent_backend_state{instance="n1",backend="nvml",state="Failed"}`: {1, 0}},
	"RankwrightDetectionOld":           {`rankwright_node_agent_last_scan_timestamp_seconds{instance="n1"}`: {0, 0}},
}

func TestAlertsFireForTheirFaultAlone(t *testing.T) {
	rules := readRules(t)
	var names []string
	for i := range rules {
		names = append(names, rules[i].Alert)
		if fires(t, &rules[i], well()) {
			t.Errorf("%s fires in a cluster in which nothing is wrong", rules[i].Alert)
		}
	}
	slices.Sort(names)
	if known := slices.Sorted(maps.Keys(faults)); !slices.Equal(names, known) {
		t.Fatalf("alerts %q, faults of %q", names, known)
	}
	for alert, changes := range faults {
		now := well()
		for name, c := range changes {
			if c == nil {
				delete(now, name)
				continue
			}
			now[name] = *c
		}
		for i := range rules {
			if is := rules[i].Alert == alert; fires(t, &rules[i], now) != is {
				t.Errorf("what %s tells of: %s fires %v", alert, rules[i].Alert, !is)
			}
		}
	}
}

// fires says whether an alert fires at the end of what a world shows: whether there was a value at each scrape for as long as the rule asks.
func fires(t *testing.T, r *prometheus.Rule, now world) bool {
	t.Helper()
	lasts, err := model.ParseDuration(r.For)
	if err != nil {
		t.Fatal(err)
	}
	end := time.UnixMilli(0).Add(hours - scrape)
	is, err := store(t, now).Throughout(r.Expr, end.Add(-time.Duration(lasts)), end, scrape)
	if err != nil {
		t.Fatalf("%s: %v", r.Alert, err)
	}
	return is
}

func store(t *testing.T, now world) *prometheus.Storage {
	t.Helper()
	all := prometheus.New()
	for name, c := range now {
		lset, err := parser.ParseMetric(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range int(hours / scrape) {
			all.Add(lset, time.UnixMilli(0).Add(time.Duration(i)*scrape), c.from+c.growth*float64(i))
		}
	}
	return all
}

// Every alert has a section that says what to do, and its metrics are among those that the documents list.
func TestAlertsHaveRunbooks(t *testing.T) {
	text, err := os.ReadFile(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	rules := readRules(t)
	for i := range rules {
		r := &rules[i]
		_, section, found := strings.Cut(string(text), "\n## "+r.Alert+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !found || !strings.Contains(section, "kubectl ") {
			t.Errorf("%s has no section in %s with a command that shows what is wrong", r.Alert, runbooks)
		}
		if want := "docs/operate/alerts.md#" + strings.ToLower(r.Alert); !strings.HasSuffix(r.Annotations["runbook_url"], want) {
			t.Errorf("%s: runbook_url is %q, want one that ends with %s", r.Alert, r.Annotations["runbook_url"], want)
		}
		for _, key := range []string{"summary", "description"} {
			if r.Annotations[key] == "" {
				t.Errorf("%s has no %s", r.Alert, key)
			}
		}
	}
	if sections := strings.Count(string(text), "\n## "); sections != len(rules) {
		t.Errorf("%d sections for %d alerts", sections, len(rules))
	}
}

var metricName = regexp.MustCompile(`\brankwright_[a-z_]+`)

func TestAlertsUseMetricsThatAreListed(t *testing.T) {
	var documents strings.Builder
	for _, file := range []string{"metrics.md"} {
		text, err := os.ReadFile("../../docs/reference/" + file)
		if err != nil {
			t.Fatal(err)
		}
		documents.Write(text)
	}
	rules := readRules(t)
	for i := range rules {
		for _, name := range metricName.FindAllString(rules[i].Expr, -1) {
			if name = strings.TrimSuffix(name, "_bucket"); !strings.Contains(documents.String(), "`"+name) {
				t.Errorf("%s: %s is in no list of metrics", rules[i].Alert, name)
			}
		}
	}
}
