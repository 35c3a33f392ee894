package main

import (
	"context"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/prometheus"
)

// silent are panels that have nothing to show of the demo, by what it lacks. What they ask for happens in test/dashboards.
var silent = map[string][]string{
	"readings, which recordings of a host have not": {
		"Hottest device by product", "Temperature", "Power", "Power by vendor", "Utilization", "Utilization by vendor", "Held, and not computing for half an hour",
		"What the PCI link can carry now", "Errors that NVIDIA's driver told of in an hour", "Events that it watches for",
	},
	"a kubelet, and so pods that run": {
		"Containers that it asked devices for, in an hour", "Devices offered to it", "Resources that it takes", "Devices that pods hold and nothing names",
		"Placements that run as planned", "Strangers on its devices", "Time per token, as a part of what is expected",
		"Verified", "What the pods found", "Meshes with a fault", "Bandwidth of the slowest group", "Latency of the slowest group",
		"Bandwidth that pods measured, as a part of what is planned", "Answers of the webhook, 99 of 100 within",
	},
	"anything that fails": {
		"Backends that could not look", "Devices that are not healthy", "Not healthy", "Changes of health in an hour",
		"Devices in repair", "Devices in repair, by state", "Repairs that ended, in an hour",
	},
	"something new between two looks at it": {"Time of a detection", "Steps, 99 of 100 within", "Wait for a plan", "Requests for each mesh that was written"},
}

// metrics has Prometheus' engine read a demo that was left running, by the configuration that the demo wrote, and ask for every panel of every
// dashboard of the chart.
func metrics(t *testing.T, printed []string) {
	text, err := os.ReadFile(found(t, printed, `--config\.file=(\S+)`))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		RuleFiles     []string `json:"rule_files"`
		ScrapeConfigs []struct {
			Authorization struct {
				CredentialsFile string `json:"credentials_file"`
			} `json:"authorization"`
			StaticConfigs []struct {
				Targets []string `json:"targets"`
			} `json:"static_configs"`
		} `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	rules, err := prometheus.ReadRules(config.RuleFiles[0])
	if err != nil {
		t.Fatal(err)
	}
	scrape := config.ScrapeConfigs[0]
	token, err := os.ReadFile(scrape.Authorization.CredentialsFile)
	if err != nil {
		t.Fatal(err)
	}
	stored, at := prometheus.New(), time.Now()
	for range 3 { // a minute apart, whatever the clock says
		at = at.Add(time.Minute)
		for _, target := range scrape.StaticConfigs[0].Targets {
			status, shown, err := controlplane.Scrape(t.Context(), target, string(token))
			if err != nil || status != 200 {
				t.Fatalf("%s: status %d, %v", target, status, err)
			}
			if _, err := stored.Scrape([]byte(shown), at, map[string]string{"instance": target, "job": "rankwright"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := stored.Record(rules, at); err != nil {
			t.Fatal(err)
		}
	}
	checkBoards(t, stored, at)
}

// checkBoards holds every panel of every dashboard of the chart to an answer, unless the demo lacks what it asks for.
func checkBoards(t *testing.T, source prometheus.Source, at time.Time) {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	boards, err := prometheus.ReadBoards(filepath.Join(root, "charts", "rankwright", "dashboards"))
	if err != nil {
		t.Fatal(err)
	}
	lacking := slices.Concat(slices.Collect(maps.Values(silent))...)
	for i := range boards {
		unanswered, err := boards[i].Unanswered(source, at)
		if err != nil {
			t.Fatal(err)
		}
		for _, empty := range unanswered {
			if !slices.Contains(lacking, empty.Panel) {
				t.Errorf("%s: panel %q: no answer to %s", boards[i].Title, empty.Panel, empty.Side)
			}
		}
	}
}

// served has a Prometheus read a demo that was left running, started as the demo says, until it scraped every target three times and recorded something
// twice. It reaches all targets, evaluates all rules and alerts, and answers every panel.
func served(t *testing.T, printed []string) {
	if os.Getenv("RANKWRIGHT_PROMETHEUS") == "" {
		t.Skip("a Prometheus is built by `make queries`, which sets RANKWRIGHT_PROMETHEUS=1")
	}
	assets, err := controlplane.FindAssets()
	if err != nil {
		t.Fatal(err)
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	server, err := prometheus.StartServer(t.Context(), filepath.Join(assets, "prometheus"), found(t, printed, `--config\.file=(\S+)`), address, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	const looked = `min(count_over_time(up[5m])) >= 3 and max(count_over_time(device:rankwright_free:info[5m])) >= 2`
	awaited := wait.PollUntilContextTimeout(t.Context(), time.Second, 3*time.Minute, true, func(context.Context) (bool, error) {
		answer, err := server.Instant(looked, time.Now())
		return len(answer) > 0, err
	})
	failures, err := server.Failures(t.Context())
	if err != nil || awaited != nil || len(failures) > 0 {
		t.Fatalf("%s: %v, %v\n%s", looked, awaited, err, strings.Join(failures, "\n"))
	}
	checkBoards(t, server, time.Now())
}
