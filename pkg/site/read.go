package site

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// Read returns what the content of a file says of services: of `vllm bench serve` (--save-result), SGLang's bench_serving (--output-file), AIPerf
// (profile_export_aiperf.json) or the start-up log of vLLM. What a file does not say is left empty: mostly the device. The error says what is understood.
func Read(file string, content []byte) ([]v1alpha1.Measurement, error) {
	read, err := objects(content)
	if err != nil || len(read) == 0 {
		if m, ok := startUp(content); ok {
			m.Source.File = file
			return []v1alpha1.Measurement{m}, nil
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", file, errUnknown), err)
	}
	var list []v1alpha1.Measurement
	for i, o := range read {
		m, ok := o.measurement()
		if !ok {
			return nil, fmt.Errorf("%s: object %d: %w", file, i+1, errUnknown)
		}
		if stopped, _ := o["was_cancelled"].(bool); stopped {
			return nil, fmt.Errorf("%s: object %d: the benchmark was cancelled: run it again", file, i+1)
		}
		if m.Requests == 0 || m.MilliTokensPerSecond == 0 && m.TPOTMicros == 0 {
			return nil, fmt.Errorf("%s: object %d: no request was answered: run the benchmark again", file, i+1)
		}
		m.Source.File = file
		list = append(list, m)
	}
	return list, nil
}

var errUnknown = errors.New("not a result of `vllm bench serve --save-result`, SGLang's bench_serving --output-file or AIPerf's profile_export_aiperf.json, and no start-up log of vLLM")

// object is a JSON object of any form.
type object map[string]any

// mostObjects is how many results of a file are read.
const mostObjects = 256

// objects reads the JSON objects that follow one another.
func objects(content []byte) ([]object, error) {
	decoder := json.NewDecoder(bytes.NewReader(finite(content)))
	var list []object
	for decoder.More() {
		var o object
		if err := decoder.Decode(&o); err != nil {
			return nil, err
		}
		if list = append(list, o); len(list) > mostObjects {
			return nil, fmt.Errorf("more than %d results: give files with fewer", mostObjects)
		}
	}
	return list, nil
}

// finite replaces the numbers that Python writes and JSON does not know by null: Infinity, -Infinity and NaN.
func finite(content []byte) []byte {
	out := make([]byte, 0, len(content))
	text, escaped := false, false
	for i := 0; i < len(content); i++ {
		c := content[i]
		switch {
		case text:
			text = escaped || c != '"'
			escaped = !escaped && c == '\\'
		case c == '"':
			text = true
		default:
			if n := notFinite(content[i:]); n > 0 {
				out = append(out, "null"...)
				i += n - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// notFinite returns the length of a number that is none at the start of a text.
func notFinite(text []byte) int {
	for _, word := range []string{"-Infinity", "Infinity", "NaN"} {
		if bytes.HasPrefix(text, []byte(word)) {
			return len(word)
		}
	}
	return 0
}

// measurement tells the tool by fields that only it writes.
func (o object) measurement() (v1alpha1.Measurement, bool) {
	switch {
	case o.has("total_output_tokens_retokenized"):
		return o.sglang(), true
	case o.has("output_throughput") && o.has("total_input_tokens") && (o.has("model_id") || o.has("tokenizer_id")):
		return o.vllm(), true
	case o.has("output_token_throughput") && o.has("input_sequence_length"):
		return o.aiperf(), true
	default:
		return v1alpha1.Measurement{}, false
	}
}

// vllm reads a result of `vllm bench serve`.
func (o object) vllm() v1alpha1.Measurement {
	m := o.served()
	m.Model, m.Engine = o.word("model_id"), engineOf(o.word("backend"), "vllm")
	m.Source.Tool = "vllm bench serve"
	if at, err := time.Parse("20060102-150405", o.word("date")); err == nil {
		m.Source.Time = metav1.NewTime(at)
	}
	m.EngineVersion = o.word("vllm_version")
	m.Parallelism = degrees(o.whole("tensor_parallel_size"), o.whole("pipeline_parallel_size"), o.whole("data_parallel_size"), 0)
	return m
}

// sglang reads a result of SGLang's bench_serving, of which newer versions tell how the server was started.
func (o object) sglang() v1alpha1.Measurement {
	m := o.served()
	m.Engine = engineOf(o.word("backend"), "sglang")
	m.Source.Tool = "sglang.bench_serving"
	server, _ := o["server_info"].(map[string]any)
	s := object(server)
	m.Model, m.EngineVersion = s.word("model_path"), s.word("version")
	tensor, data := s.whole("tp_size"), s.whole("dp_size")
	if shared, _ := s["enable_dp_attention"].(bool); shared && data > 0 { // data ranks are among the tensor ranks
		tensor /= data
	} else if data > 1 { // each is a copy of its own
		m.Replicas, data = data, 0
	}
	m.Parallelism = degrees(tensor, s.whole("pp_size"), data, s.whole("ep_size"))
	return m
}

// served reads what vLLM's and SGLang's benchmarks write alike, since both come from one program.
func (o object) served() v1alpha1.Measurement {
	answered := max(1, o.number("completed"))
	return v1alpha1.Measurement{
		InputTokens: whole32(math.Round(o.number("total_input_tokens") / answered)), OutputTokens: whole32(math.Round(o.number("total_output_tokens") / answered)),
		Concurrency: o.whole("max_concurrency"), Requests: o.whole("completed"), MilliTokensPerSecond: whole64(o.number("output_throughput") * 1e3),
		TTFTMicros: whole64(o.number("median_ttft_ms") * 1e3), TPOTMicros: whole64(o.number("median_tpot_ms") * 1e3),
	}
}

// aiperf reads a summary of AIPerf.
func (o object) aiperf() v1alpha1.Measurement {
	config, _ := o["input_config"].(map[string]any)
	info, _ := o["run_info"].(map[string]any)
	m := v1alpha1.Measurement{
		InputTokens: whole32(math.Round(o.statistic("input_sequence_length", "avg"))), OutputTokens: whole32(math.Round(o.statistic("output_sequence_length", "avg"))),
		Requests: whole32(o.statistic("request_count", "avg")), MilliTokensPerSecond: whole64(o.statistic("output_token_throughput", "avg") * 1e3),
		TTFTMicros: whole64(o.statistic("time_to_first_token", "p50") * 1e3), TPOTMicros: whole64(o.statistic("inter_token_latency", "p50") * 1e3),
		Source: v1alpha1.MeasurementSource{Tool: "aiperf"},
	}
	for _, in := range []any{info["variation_values"], config} {
		if n, ok := search(in, "concurrency").(float64); ok && m.Concurrency == 0 {
			m.Concurrency = whole32(n)
		}
	}
	for _, key := range []string{"model_names", "models", "model"} {
		if m.Model == "" {
			m.Model = firstWord(search(config, key))
		}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999"} {
		if at, err := time.Parse(layout, o.word("start_time")); err == nil {
			m.Source.Time = metav1.NewTime(at.UTC().Truncate(time.Second))
		}
	}
	return m
}

// engineOf is the engine that a benchmark was told it talks to, as far as the backend's name begins with one (`sglang-oai-chat`); else the usual one of
// the tool.
func engineOf(backend, usual string) v1alpha1.Engine {
	word, _, _ := strings.Cut(backend, "-")
	for _, name := range []string{backend, word, usual} {
		if found, _, err := engine.Parse(name); err == nil && name != "" {
			return found.Name
		}
	}
	return ""
}
