package site_test

import (
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/site"
)

var now = time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)

// ran is a run of Qwen3-14B on an A100 some days ago.
func ran(version string, days int) v1alpha1.Measurement {
	one := int32(1)
	m := v1alpha1.Measurement{
		Model: "Qwen/Qwen3-14B", Device: "NVIDIA A100-SXM4-80GB", Engine: "vLLM", EngineVersion: version, Parallelism: &v1alpha1.Parallelism{Tensor: &one},
		InputTokens: 1024, OutputTokens: 512, Concurrency: 32, Requests: 320, MilliTokensPerSecond: 700_000, TPOTMicros: 43_000,
	}
	m.Source.Time = metav1.NewTime(now.AddDate(0, 0, -days))
	return m
}

func calibration(name string, list ...v1alpha1.Measurement) v1alpha1.SiteCalibration {
	return v1alpha1.SiteCalibration{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SiteCalibrationSpec{Measurements: list}}
}

// moved is how far calibrations move tokens per second of a run, in logarithms, and what they are called.
func moved(t *testing.T, list ...v1alpha1.SiteCalibration) (by float64, source string) {
	t.Helper()
	compiled, failures := site.Compile(list, now)
	if len(failures) > 0 {
		t.Fatal(failures)
	}
	m := ran("", 0)
	a, err := site.Estimate(&m, compiled)
	if err != nil || a.Site == nil {
		t.Fatalf("%+v, %v", a, err)
	}
	return math.Log(*a.OutputTokensPerSecond / a.Site.OutputTokensPerSecond), a.Site.Source
}

func TestCompileCountsAgeAndVersion(t *testing.T) {
	fresh, source := moved(t, calibration("lab", ran("0.11.0", 10)))
	if fresh >= 0 || source != "lab: 1 measurement of 2026-11-16" {
		t.Errorf("a slow run moves by %.3f, from %q", fresh, source)
	}
	if within, _ := moved(t, calibration("lab", ran("0.11.0", 89))); within != fresh {
		t.Errorf("moved by %.3f, and by %.3f after 89 days", fresh, within)
	}
	if old, _ := moved(t, calibration("lab", ran("0.11.0", 800))); old <= fresh {
		t.Errorf("moved by %.3f, and by %.3f after 800 days", fresh, old)
	}
	impatient := calibration("lab", ran("0.11.0", 40))
	impatient.Spec.FreshDays = 5
	if old, _ := moved(t, impatient); old <= fresh {
		t.Errorf("moved by %.3f, and by %.3f where 5 days are fresh", fresh, old)
	}
	newer := ran("0.12.0", 1)
	newer.MilliTokensPerSecond, newer.TPOTMicros = 1_000_000, 30_000
	same := newer
	same.EngineVersion = "0.11.0"
	mixed, source := moved(t, calibration("b", newer), calibration("a", ran("0.11.0", 10)))
	alike, _ := moved(t, calibration("b", same), calibration("a", ran("0.11.0", 10)))
	if mixed <= alike {
		t.Errorf("moved by %.3f towards a slow run of an older version, and by %.3f towards one of the same", mixed, alike)
	}
	if source != "a, b: 2 measurements from 2026-11-16 to 2026-11-25" {
		t.Errorf("from %q", source)
	}
}

func TestCompileLeavesOutWhatCannotBeEstimated(t *testing.T) {
	unknown, impossible := ran("", 1), ran("", 1)
	unknown.Model, impossible.Device = "Qwen3-15B", "NVIDIA Nothing"
	compiled, failures := site.Compile([]v1alpha1.SiteCalibration{calibration("lab", unknown, ran("", 1), impossible)}, now)
	if compiled == nil || len(failures) != 2 || !strings.HasPrefix(failures[0].Error(), "lab: Qwen3-15B on ") {
		t.Errorf("%v", failures)
	}
	if none, failures := site.Compile(nil, now); none != nil || failures != nil {
		t.Error("nothing was measured, and something is compiled")
	}
}

// TestCompareHasTheCache holds that the room of a KV cache is compared, of which nothing else is measured.
func TestCompareHasTheCache(t *testing.T) {
	log, err := site.Read("vllm-startup.log", testdata(t, "vllm-startup.log"))
	if err != nil {
		t.Fatal(err)
	}
	log[0].Device = "NVIDIA A100-SXM4-80GB"
	rows, err := site.Compare(log, now)
	if err != nil || len(rows) != 1 || rows[0].What != "KV cache" || rows[0].Measured != 261424 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if ratio := rows[0].Estimated / rows[0].Measured; ratio < 0.8 || ratio > 1.2 {
		t.Errorf("%.0f tokens are estimated", rows[0].Estimated)
	}
}

// TestALessCacheIsHeldBack holds that an engine which had less for its cache is planned with less, and one that had more with what is counted.
func TestALessCacheIsHeldBack(t *testing.T) {
	log, err := site.Read("vllm-startup.log", testdata(t, "vllm-startup.log"))
	if err != nil {
		t.Fatal(err)
	}
	log[0].Device = "NVIDIA A100-SXM4-80GB"
	with := func(tokens int64) int64 {
		m := log[0]
		m.CacheTokens = tokens
		compiled, failures := site.Compile([]v1alpha1.SiteCalibration{calibration("lab", m)}, now)
		if len(failures) > 0 {
			t.Fatal(failures)
		}
		a, err := site.Estimate(&m, compiled)
		if err != nil {
			t.Fatal(err)
		}
		return a.CacheTokens()
	}
	bare, err := site.Estimate(&log[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	counted := bare.CacheTokens()
	if got := with(counted / 2); got < counted*49/100 || got > counted*51/100 {
		t.Errorf("%d tokens, and half of %d were seen", got, counted)
	}
	if got := with(2 * counted); got != counted {
		t.Errorf("%d tokens, and %d are counted", got, counted)
	}
}
