package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/estimate"
)

// today is when commands of these tests run.
var today = time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)

// runAt runs the plugin at a time, with what it reads over the network.
func runAt(t *testing.T, now time.Time, get func(context.Context, string) ([]byte, error), args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e strings.Builder
	passed := make(chan time.Time)
	close(passed)
	code = term.Execute(t.Context(), newRoot, args, term.Streams{
		In: strings.NewReader(""), Out: &o, Err: &e, Get: get,
		Now: func() time.Time { return now }, After: func(time.Duration) <-chan time.Time { return passed },
	})
	return o.String(), clitest.Unfolded(e.String()), code
}

// TestDocumentedCalibration holds the outputs that docs/use/calibration.md shows; -update writes the document anew.
func TestDocumentedCalibration(t *testing.T) {
	document, err := filepath.Abs(filepath.Join("..", "..", "docs", "use", "calibration.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := clitest.ReadPage(t, document)
	t.Chdir(clitest.Testdata(t, "calibration"))
	kept := filepath.Join(t.TempDir(), "site.yaml")
	show := func(command string) string {
		out, errs, code := runAt(t, today, nil, words(strings.ReplaceAll(strings.Split(command, " > ")[0], "site.yaml", kept))...)
		if code != term.ExitOK || errs != "" {
			t.Fatalf("%s: exit code %d, errors %q", command, code, errs)
		}
		return out
	}
	const measured = `calibrate long.json medium.json short.json --device "NVIDIA A100-SXM4-80GB" --engine vLLM`
	page.Show(t, measured, show(measured))
	const ofPlan = `calibrate long.json medium.json short.json -f chat.yaml`
	page.Show(t, ofPlan, show(ofPlan))
	if err := os.WriteFile(kept, []byte(show(measured+" -o yaml")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		`estimate --model Qwen3-14B --device "NVIDIA A100-SXM4-80GB" --isl 1000 --osl 300 --concurrency 64 --calibration site.yaml`,
		`recommend --model Qwen3-235B-A22B --device H100 --devices 8 --objective Latency --next-benchmark`,
	} {
		page.Show(t, command, show(command))
	}
	page.Hold(t)
}

// words parts a command line; what is in quotes is one word.
func words(line string) []string {
	var list []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			list = append(list, part)
		} else {
			list = append(list, strings.Fields(part)...)
		}
	}
	return list
}

func calibrated(t *testing.T, now time.Time, get func(context.Context, string) ([]byte, error), args ...string) v1alpha1.SiteCalibration {
	t.Helper()
	out, errs, code := runAt(t, now, get, append([]string{"calibrate", "-o", "json"}, args...)...)
	if code != term.ExitOK {
		t.Fatalf("%v: exit code %d, errors %q", args, code, errs)
	}
	return clitest.Object[v1alpha1.SiteCalibration](t, out)
}

// TestCalibrationIsAddedTo adds results to a file, of which the same run counts once.
func TestCalibrationIsAddedTo(t *testing.T) {
	t.Chdir(clitest.Testdata(t, "calibration"))
	on := []string{"--device", "NVIDIA A100-SXM4-80GB", "--engine", "vLLM"}
	out, _, code := runAt(t, today, nil, append([]string{"calibrate", "long.json", "-o", "yaml", "--name", "lab"}, on...)...)
	file := filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil || code != 0 {
		t.Fatal(err, code)
	}
	got := calibrated(t, today, nil, append([]string{"long.json", "short.json", "-f", file}, on...)...)
	if got.Name != "lab" || got.Kind != "SiteCalibration" || len(got.Spec.Measurements) != 2 || got.Spec.Summary.Measurements != 2 {
		t.Errorf("%+v", got)
	}
	if s := got.Spec.Summary; s.Devices != "NVIDIA A100-SXM4-80GB" || s.Models != "Qwen/Qwen3-14B" || s.Newest.UTC().Format(time.DateOnly) != "2025-11-12" {
		t.Errorf("%+v", s)
	}
}

// TestOldMeasurementsMoveLess estimates with the same measurements today and years later.
func TestOldMeasurementsMoveLess(t *testing.T) {
	t.Chdir(clitest.Testdata(t, "calibration"))
	file := filepath.Join(t.TempDir(), "site.yaml")
	out, _, _ := runAt(t, today, nil, "calibrate", "medium.json", "-o", "yaml", "--device", "NVIDIA A100-SXM4-80GB", "--engine", "vLLM")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(now time.Time) *estimate.Answer {
		out, errs, code := runAt(t, now, nil, "estimate", "--model", "Qwen3-14B", "--device", "NVIDIA A100-SXM4-80GB", "--isl", "3996", "--osl", "200", "--requests", "500", "--calibration", file, "-o", "json")
		if code != term.ExitOK {
			t.Fatal(errs)
		}
		a := clitest.Object[estimate.Answer](t, out)
		return &a
	}
	measured := time.Date(2025, 11, 12, 0, 0, 0, 0, time.UTC)
	fresh, old := at(measured.AddDate(0, 1, 0)), at(measured.AddDate(5, 0, 0))
	moved := func(a *estimate.Answer) float64 { return 1 - *a.OutputTokensPerSecond/a.Site.OutputTokensPerSecond }
	if moved(fresh) <= moved(old) || moved(old) <= 0 {
		t.Errorf("moved by %.3f, and by %.3f after five years", moved(fresh), moved(old))
	}
	width := func(r estimate.Range) float64 { return r.High / r.Low }
	if width(fresh.Ranges.OutputTokensPerSecond) >= width(old.Ranges.OutputTokensPerSecond) {
		t.Error("an old measurement leaves as narrow a range as a new one")
	}
}

// TestCalibrationFromMetrics reads an engine over HTTP, and a Prometheus.
func TestCalibrationFromMetrics(t *testing.T) {
	recorded := filepath.Join("..", "..", "pkg", "site", "testdata")
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(recorded, name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch {
		case r.URL.Path == "/metrics" && asked == 1:
			_, _ = w.Write(read("vllm-metrics-before.txt"))
		case r.URL.Path == "/metrics":
			_, _ = w.Write(read("vllm-metrics-after.txt"))
		case r.URL.Path == "/api/v1/query" && r.FormValue("time") == fmt.Sprintf("%d.000", today.Unix()):
			_, _ = w.Write(read("prometheus.json"))
		case r.URL.Path == "/api/v1/query":
			_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[]}}`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	get := func(ctx context.Context, address string) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			return nil, err
		}
		answer, err := server.Client().Do(request)
		if err != nil {
			return nil, err
		}
		defer func() { _ = answer.Body.Close() }()
		return io.ReadAll(answer.Body)
	}
	device := []string{"--device", "NVIDIA A100-SXM4-80GB"}
	m := calibrated(t, today, get, append([]string{"--metrics", server.URL + "/metrics"}, device...)...).Spec.Measurements[0]
	if m.Concurrency != 32 || m.MilliTokensPerSecond != 1365333 || m.Source.File != server.URL+"/metrics" || !m.Source.Time.Time.Equal(today) {
		t.Errorf("%+v", m)
	}
	m = calibrated(t, today, get, append([]string{"--prometheus", server.URL, "--window", "1h"}, device...)...).Spec.Measurements[0]
	if m.Requests != 7200 || m.MilliTokensPerSecond != 1024000 {
		t.Errorf("%+v", m)
	}
}

// TestCalibrateRefuses says what is missing and how to give it.
func TestCalibrateRefuses(t *testing.T) {
	t.Chdir(clitest.Testdata(t, "calibration"))
	for want, args := range map[string][]string{
		"give results of benchmarks":        {},
		"add --device":                      {"long.json"},
		"did you mean":                      {"long.json", "--device", "H100", "--model", "Qwen3-15B"},
		"-f: no ShardingPlan and no":        {"long.json", "-f", "long.yaml"},
		"--tp -2: give 1 or more":           {"long.json", "--device", "H100", "--tp", "-2"},
		"--model: model \"Qwen3-15B\"":      {"long.json", "--device", "H100", "--model", "Qwen3-15B"},
		"give one of them":                  {"--metrics", "http://a", "--prometheus", "http://b"},
		"not a result of `vllm bench serve": {"long.yaml", "--device", "H100"},
	} {
		if _, errs, code := runAt(t, today, nil, append([]string{"calibrate"}, args...)...); code == term.ExitOK || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d, %q, want %q", args, code, errs, want)
		}
	}
}

// TestCalibrationAmongManifests plans with a SiteCalibration among the inventories: both numbers are printed, and the explanation has what the estimate was without it.
func TestCalibrationAmongManifests(t *testing.T) {
	t.Chdir(clitest.Testdata(t, "calibration"))
	folder := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	out, _, _ := runAt(t, today, nil, "calibrate", "long.json", "short.json", "-o", "yaml", "--device", "NVIDIA A100-SXM4-80GB", "--engine", "vLLM")
	measured := write("site.yaml", out)
	inventory := write("inventory.yaml", `apiVersion: rankwright.dev/v1alpha1
kind: AcceleratorInventory
metadata: {name: node}
status:
  devices:
  - {id: "nvidia-0000:17:00.0", vendor: nvidia, family: GPU, product: NVIDIA A100-SXM4-80GB, architecture: Ampere, memory: {totalMiB: 81920}, health: {state: Healthy}, performance: {memoryBandwidthMBps: 2039000, peak: [{precision: BF16, gflops: 312000}]}}
`)
	asked := []string{"plan", "-f", inventory, "--model", "Qwen3-14B", "--max-model-len", "4096"}
	plain, errs, code := runAt(t, today, nil, asked...)
	if code != term.ExitOK || strings.Contains(plain, "Measured:") {
		t.Fatalf("exit code %d, %s, %s", code, plain, errs)
	}
	for _, also := range [][]string{{"-f", measured}, {"--calibration", measured}} {
		with, errs, code := runAt(t, today, nil, append(append([]string{}, asked...), also...)...)
		if code != term.ExitOK || !strings.Contains(with, "Throughput:   estimated ") || !strings.Contains(with, "Measured:     site: 2 measurements of 2025-11-12") {
			t.Errorf("%v: exit code %d, %s, %s", also, code, with, errs)
		}
	}
	explained, _, _ := runAt(t, today, nil, append(asked, "--calibration", measured, "-o", "explain")...)
	for _, part := range []string{"Without:", "the measurements of the site: TPOT ", "They move them by factors of "} {
		if !strings.Contains(explained, part) {
			t.Errorf("the explanation lacks %q: %s", part, explained)
		}
	}
}
