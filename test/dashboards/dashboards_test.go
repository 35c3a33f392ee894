package dashboards

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
	"github.com/rankwright/rankwright/test/prometheus"
)

const chart = "../../charts/rankwright/"

func readBoards(t *testing.T) []prometheus.Board {
	t.Helper()
	boards, err := prometheus.ReadBoards(chart + "dashboards")
	if err != nil {
		t.Fatal(err)
	}
	return boards
}

// page is what a Prometheus has of the story.
type page struct {
	*prometheus.Storage
	rules []prometheus.Rule
	// times are those of the scrapes, a minute apart whatever the clock says.
	times    []time.Time
	skipped  time.Duration // how much longer the next one lets wait
	families map[string]*prometheus.Family
}

// scrape stores what every target shows, and evaluates the rules.
func (p *page) scrape(s *story, others map[string]string) {
	s.Helper()
	at := time.Now()
	if n := len(p.times); n > 0 {
		at = p.times[n-1].Add(time.Minute + p.skipped)
	}
	p.skipped = 0
	p.times = append(p.times, at)
	take := func(instance, text string) {
		families, err := p.Scrape([]byte(text), at, map[string]string{"instance": instance, "namespace": "of-the-target"})
		s.Must(err)
		for name, family := range families {
			if known := p.families[name]; known != nil {
				for label := range family.Labels {
					known.Labels[label] = true
				}
				continue
			}
			p.families[name] = family
		}
	}
	for instance, address := range s.targets() {
		status, text, err := controlplane.Scrape(s.Context(), address, s.token)
		if err != nil || status != 200 {
			s.Fatalf("%s: status %d, %v", instance, status, err)
		}
		take(instance, text)
	}
	for instance, text := range others {
		take(instance, text)
	}
	s.Must(p.Record(p.rules, at))
}

func (p *page) last() time.Time { return p.times[len(p.times)-1] }

func has(text, line string) bool { return strings.Contains("\n"+text, "\n"+line+"\n") }

// TestEveryQueryIsAnswered tells the story, and holds to it every query that the chart ships.
func TestEveryQueryIsAnswered(t *testing.T) {
	s := newStory(operation.New(t, cluster, "models"))
	recording, err := prometheus.ReadRules(chart + "recording.yaml")
	s.Must(err)
	p := &page{Storage: prometheus.New(), rules: recording, families: map[string]*prometheus.Family{}}
	p.scrape(s, exporters(s))
	s.begin()
	p.scrape(s, exporters(s))
	s.run()
	s.move()
	s.intrude()
	s.look()
	p.scrape(s, exporters(s))
	s.fail()
	p.scrape(s, exporters(s))
	p.scrape(s, exporters(s))

	t.Run("panels", func(t *testing.T) {
		for _, b := range readBoards(t) {
			p.checkBoard(t, &b)
		}
	})
	t.Run("questions", func(t *testing.T) { p.checkQuestions(t) })
	t.Run("recording rules", func(t *testing.T) { p.checkRules(t) })
	t.Run("alerts", func(t *testing.T) { p.checkAlerts(t) })
	t.Run("joins", func(t *testing.T) { p.checkJoins(t) })
	t.Run("series", func(t *testing.T) { p.countSeries(t) })
	t.Run("reference", func(t *testing.T) { p.checkReference(t) })
	p.checkBreaks(s)
}

// checkBoard holds a dashboard to an answer to each side of each query.
func (p *page) checkBoard(t *testing.T, b *prometheus.Board) {
	for _, panel := range b.Panels {
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("%s: panel %q asks nothing", b.Title, panel.Title)
		}
	}
	unanswered, err := b.Unanswered(p, p.last())
	if err != nil {
		t.Fatal(err)
	}
	for _, empty := range unanswered {
		t.Errorf("%s: panel %q: no answer to %s", b.Title, empty.Panel, empty.Side)
	}
}

// sidesOf are the sides of an expression between its outermost `or`: each is there for a case of its own.
func sidesOf(t *testing.T, expr string) []string {
	t.Helper()
	sides, err := prometheus.Alternatives(expr)
	if err != nil {
		t.Fatal(err)
	}
	return sides
}

func (p *page) answers(t *testing.T, expr string) bool {
	t.Helper()
	answer, err := p.Instant(expr, p.last())
	if err != nil {
		t.Fatal(err)
	}
	return len(answer) > 0
}

// checkRules holds each side of each rule to an answer: a vendor's exporter that is never joined would not show otherwise.
func (p *page) checkRules(t *testing.T) {
	for i := range p.rules {
		r := &p.rules[i]
		for _, side := range sidesOf(t, r.Expr) {
			if !p.answers(t, side) {
				t.Errorf("rule %s: no answer to %s", r.Record, side)
			}
		}
	}
}

// fired are the alerts whose faults the story has; those of breaks follow it.
var fired = []string{
	"RankwrightPlacementNotPlaced", "RankwrightPlacementStuck", "RankwrightPlannedDeviceUnhealthy", "RankwrightDevicesUnhealthy", "RankwrightSlowerThanEstimated",
	"RankwrightPodsDrifted",
	"RankwrightMeshFaulty", "RankwrightBackendFailed",
}

// checkAlerts holds each selector of each alert to series that are served, and the alerts of the story's faults to an answer.
func (p *page) checkAlerts(t *testing.T) {
	rules, err := prometheus.ReadRules(chart + "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := range rules {
		r := &rules[i]
		selectors, err := prometheus.Selectors(r.Expr)
		if err != nil {
			t.Fatal(err)
		}
		for _, selector := range selectors {
			if len(p.Series(selector.LabelMatchers...)) == 0 {
				t.Errorf("%s: nobody serves %s", r.Alert, selector)
			}
		}
		answer, err := p.Instant(r.Expr, p.last())
		if is := len(answer) > 0; err != nil || is != slices.Contains(fired, r.Alert) {
			t.Errorf("%s: %v, it answers %v", r.Alert, err, answer)
		}
	}
}

// checkJoins holds what is joined to what happened.
func (p *page) checkJoins(t *testing.T) {
	for expr, want := range map[string]float64{
		`count(device:rankwright_holder:info{namespace="models", pod="chat-0", placement="chat", rank="0", role="tp0", node="h100-0"})`: 1,
		`count(device:rankwright_holder:info{namespace="models", pod="chat-1", placement="chat", rank="1", role="tp1", node="h100-0"})`: 1,
		`count(device:rankwright_holder:info{namespace="strangers", pod="stranger", placement="", node="mi300x-0"})`:                    1,
		`count(device:rankwright_holder:info{placement="empty", pod=""})`:                                                               2,
		`count(device:rankwright_rank:info)`:                           6,
		`count by (node) (device:rankwright_free:info{node="l40s-0"})`: 1,
		`count by (node) (device:rankwright_free:info{node="h100-0"})`: 6,
		// A reading of the agent goes before that of an exporter, and where there is none the exporter's has the agent's names.
		`avg(device:rankwright_utilization:ratio{node="h100-0", vendor="nvidia"})`: 0,
		`avg(device:rankwright_utilization:ratio{node="l40s-0", vendor="nvidia"})`: 0.41,
		`avg(device:rankwright_utilization:ratio{node="mi300x-0", vendor="amd"})`:  0.12,
		`avg(device:rankwright_utilization:ratio{node="max-0", vendor="intel"})`:   0.3,
		`count(device:rankwright_utilization:ratio)`:                               8 + 4 + 8 + 4,
		`avg(device:rankwright_power:watts{node="l40s-0"})`:                        212.5,
		`avg(device:rankwright_temperature:celsius{node="mi300x-0"})`:              47,
		// What RankwrightDecisionsSlow compares with is a bound of the histogram, or shorter waits would count as longer ones.
		`count(rankwright_placement_wait_seconds_bucket{instance="operator-0", position="1", le=~"60(\\.0)?"})`: 1,
		`count(leader_election_master_status)`: 2,
		`sum(leader_election_master_status)`:   1,
	} {
		answer, err := p.Instant(expr, p.last())
		if err != nil || len(answer) != 1 || answer[0].Value != want {
			t.Errorf("%s: %v, %v, want %v", expr, err, answer, want)
		}
	}
}

// countSeries prints what docs/operate/scale.md counts with.
func (p *page) countSeries(t *testing.T) {
	for what, expr := range map[string]string{
		"an agent of 8 devices, in all":                      `count({instance="agent-h100-0"})`,
		"of which of devices":                                `count({instance="agent-h100-0", __name__=~"rankwright_device_.+", device!=""})`,
		"of which states of backends":                        `count(rankwright_node_agent_backend_state{instance="agent-h100-0"})`,
		"of which times of detections":                       `count({instance="agent-h100-0", __name__=~"rankwright_node_agent_detect_.+"})`,
		"of which of Go and the process":                     `count({instance="agent-h100-0", __name__!~"rankwright_.+"})`,
		"the leading operator, in all":                       `count({instance="operator-0"})`,
		"of which of placements":                             `count({instance="operator-0", __name__=~"rankwright_placement_.+", placement!=""})`,
		"of which of ranks":                                  `count({instance="operator-0", __name__="rankwright_rank_info"})`,
		"of which of meshes":                                 `count({instance="operator-0", mesh!=""})`,
		"of which requests to the API server":                `count({instance="operator-0", __name__="rankwright_api_requests_total"})`,
		"of which of controller-runtime, Go and the process": `count({instance="operator-0", __name__!~"rankwright_.+"})`,
		"recording rules":                                    `count({__name__=~"device:.+"})`,
	} {
		answer, err := p.Instant(expr, p.last())
		if err != nil || len(answer) != 1 {
			t.Fatalf("%s: %v, %v", what, err, answer)
		}
		t.Logf("%-52s %v", what, answer[0].Value)
	}
}
