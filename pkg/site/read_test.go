package site_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/site"
)

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func tensor(m *v1alpha1.Measurement) int32 {
	if m.Parallelism == nil || m.Parallelism.Tensor == nil {
		return 0
	}
	return *m.Parallelism.Tensor
}

// TestRead reads a result of each tool in the form in which it writes it.
func TestRead(t *testing.T) {
	day := func(text string) time.Time {
		at, err := time.Parse("2006-01-02 15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, test := range []struct {
		file   string
		rows   int
		want   v1alpha1.Measurement
		tensor int32
		at     time.Time
	}{
		{"vllm.json", 1, v1alpha1.Measurement{
			Model: "Qwen/Qwen3-14B", Engine: "vLLM", InputTokens: 1024, OutputTokens: 512, Concurrency: 32, Requests: 320,
			MilliTokensPerSecond: 1410250, TTFTMicros: 188120, TPOTMicros: 21940,
		}, 1, day("2026-11-20 10:15:30")},
		{"vllm-burst.json", 1, v1alpha1.Measurement{
			Model: "Qwen/Qwen3-14B", Engine: "vLLM", InputTokens: 1996, OutputTokens: 100, Requests: 500,
			MilliTokensPerSecond: 398650, TTFTMicros: 58310440, TPOTMicros: 231870,
		}, 0, day("2025-11-04 08:00:12")},
		{"sglang.jsonl", 2, v1alpha1.Measurement{
			Model: "Qwen/Qwen3-14B", Engine: "SGLang", EngineVersion: "0.5.5", InputTokens: 1000, OutputTokens: 500, Concurrency: 16, Requests: 160,
			MilliTokensPerSecond: 880120, TTFTMicros: 121500, TPOTMicros: 17420,
		}, 2, time.Time{}},
		{"aiperf.json", 1, v1alpha1.Measurement{
			Model: "Qwen/Qwen3-14B", Engine: "", InputTokens: 1024, OutputTokens: 512, Concurrency: 32, Requests: 320,
			MilliTokensPerSecond: 1398400, TTFTMicros: 175050, TPOTMicros: 22100,
		}, 0, day("2026-11-20 11:02:41")},
		{"vllm-startup.log", 1, v1alpha1.Measurement{
			Model: "Qwen/Qwen3-14B", Engine: "vLLM", EngineVersion: "0.11.0", MaxModelLen: 40960, CacheTokens: 261424,
		}, 1, time.Time{}},
		{"vllm-startup-data.log", 1, v1alpha1.Measurement{
			Model: "openai/gpt-oss-120b", Engine: "vLLM", EngineVersion: "0.20.1", MaxModelLen: 131072, CacheTokens: 1000000,
		}, 0, time.Time{}},
	} {
		t.Run(test.file, func(t *testing.T) {
			list, err := site.Read(test.file, testdata(t, test.file))
			if err != nil || len(list) != test.rows {
				t.Fatalf("%d rows, want %d: %v", len(list), test.rows, err)
			}
			got := list[0]
			if tensor(&got) != test.tensor {
				t.Errorf("%d tensor ranks, want %d", tensor(&got), test.tensor)
			}
			if !got.Source.Time.Time.Equal(test.at) {
				t.Errorf("measured at %s, want %s", got.Source.Time, test.at)
			}
			if got.Source.File != test.file || got.Source.Tool == "" {
				t.Errorf("the source is %+v", got.Source)
			}
			got.Source, got.Parallelism = v1alpha1.MeasurementSource{}, nil
			if got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

// TestDataRanksOfSGLang reads data ranks as the engine counts them: among the tensor ranks where they share attention alone, else as copies.
func TestDataRanksOfSGLang(t *testing.T) {
	const result = `{"backend": "sglang", "completed": 1, "total_input_tokens": 1, "total_output_tokens": 1, "output_throughput": 1, "total_output_tokens_retokenized": 1, "server_info": {"tp_size": 8, "dp_size": 4, "enable_dp_attention": %t}}`
	for shared, want := range map[bool]struct{ tensor, data, copies int32 }{true: {2, 4, 0}, false: {8, 0, 4}} {
		list, err := site.Read("file", fmt.Appendf(nil, result, shared))
		if err != nil {
			t.Fatal(err)
		}
		data := int32(0)
		if p := list[0].Parallelism; p.Data != nil {
			data = *p.Data
		}
		if tensor(&list[0]) != want.tensor || data != want.data || list[0].Replicas != want.copies {
			t.Errorf("shared attention %t: tensor %d, data %d, %d copies, want %+v", shared, tensor(&list[0]), data, list[0].Replicas, want)
		}
	}
}

func TestReadRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, content := range []string{"", "{}", "[]", `{"output_throughput": 1}`, "INFO nothing of a cache", "{\"a\": 1}\n{", `{"model_id": "m", "total_input_tokens": 1, "output_throughput": 0}`} {
		if list, err := site.Read("file", []byte(content)); err == nil {
			t.Errorf("%q is read as %+v", content, list)
		}
	}
}

// TestMetrics reads two scrapes of a vLLM and of an SGLang, a minute apart.
func TestMetrics(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, engine := range []v1alpha1.Engine{"vLLM", "SGLang"} {
		name := map[v1alpha1.Engine]string{"vLLM": "vllm", "SGLang": "sglang"}[engine]
		scrape := func(when string) site.Scrape {
			s, err := site.ParseMetrics(testdata(t, name+"-metrics-"+when+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		list := site.Between(scrape("before"), scrape("after"), time.Minute, at)
		if len(list) != 1 {
			t.Fatalf("%s: %d rows, want 1", engine, len(list))
		}
		got := list[0]
		got.Source = v1alpha1.MeasurementSource{}
		want := v1alpha1.Measurement{
			Model: "Qwen/Qwen3-14B", Engine: engine, InputTokens: 1024, OutputTokens: 512, Concurrency: 32, Requests: 160,
			MilliTokensPerSecond: 1365333, TTFTMicros: 175000, TPOTMicros: 22500,
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", engine, got, want)
		}
	}
}

func TestPrometheusAnswers(t *testing.T) {
	before, err := site.ParsePrometheus([]byte(`{"status":"success","data":{"resultType":"vector","result":[]}}`))
	if err != nil {
		t.Fatal(err)
	}
	after, err := site.ParsePrometheus(testdata(t, "prometheus.json"))
	if err != nil {
		t.Fatal(err)
	}
	list := site.Between(before, after, time.Hour, time.Time{})
	if len(list) != 1 || list[0].Requests != 7200 || list[0].MilliTokensPerSecond != 1024000 || list[0].TTFTMicros != 150000 {
		t.Errorf("%+v", list)
	}
	if _, err := site.ParsePrometheus([]byte(`{"status":"error","error":"bad query"}`)); err == nil {
		t.Error("an error of the Prometheus is no error")
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"vllm.json", "vllm-burst.json", "sglang.jsonl", "aiperf.json", "vllm-startup.log", "vllm-startup-data.log"} {
		f.Add(testdata(f, name))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		list, err := site.Read("file", content)
		if err == nil && len(list) == 0 {
			t.Error("nothing is read, and that is no error")
		}
		for i := range list {
			if m := &list[i]; m.InputTokens < 0 || m.OutputTokens < 0 || m.Concurrency < 0 || m.MilliTokensPerSecond < 0 || m.TTFTMicros < 0 || m.TPOTMicros < 0 || m.CacheTokens < 0 {
				t.Errorf("%+v", m)
			}
		}
	})
}

func FuzzMetrics(f *testing.F) {
	for _, name := range []string{"vllm-metrics-after.txt", "sglang-metrics-after.txt", "prometheus.json"} {
		f.Add(testdata(f, name))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, parse := range []func([]byte) (site.Scrape, error){site.ParseMetrics, site.ParsePrometheus} {
			s, err := parse(content)
			if err != nil {
				continue
			}
			for _, m := range site.Between(site.Scrape{}, s, time.Minute, time.Time{}) {
				if m.MilliTokensPerSecond <= 0 || m.TTFTMicros < 0 || m.TPOTMicros < 0 || m.Concurrency < 1 {
					t.Errorf("%+v", m)
				}
			}
		}
	})
}
