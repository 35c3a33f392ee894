package operation

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// VLLM is an HTTP endpoint with the metrics of a vLLM that answers requests of so many tokens in and out, a number of them at a time, each of
// which takes a time per token.
type VLLM struct {
	began         time.Time
	perToken      atomic.Int64 // nanoseconds
	input, output float64
	running       float64
}

// NewVLLM returns an engine that has begun now, with requests of 2048 tokens in and out.
func NewVLLM(perToken time.Duration, running float64) *VLLM {
	e := &VLLM{began: time.Now(), input: 2048, output: 2048, running: running}
	e.SetPerToken(perToken)
	return e
}

// SetPerToken sets the time of each token from now on.
func (e *VLLM) SetPerToken(perToken time.Duration) { e.perToken.Store(int64(perToken)) }

// ServeHTTP writes what would have been counted until now.
func (e *VLLM) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	each := time.Duration(e.perToken.Load()).Seconds()
	seconds := time.Since(e.began).Seconds() * 60000 // so that there are enough requests between two rounds
	n := seconds * e.running / (each * e.output)
	const labels = `model_name="llm"`
	histogram := func(name string, value float64) {
		_, _ = fmt.Fprintf(w, "# TYPE vllm:%s histogram\n", name)
		_, _ = fmt.Fprintf(w, "vllm:%s_bucket{le=\"%g\",%s} 0\nvllm:%s_bucket{le=\"%g\",%s} %g\nvllm:%s_bucket{le=\"+Inf\",%s} %g\n", name, value*0.98, labels, name, value*1.02, labels, n, name, labels, n)
		_, _ = fmt.Fprintf(w, "vllm:%s_count{%s} %g\nvllm:%s_sum{%s} %g\n", name, labels, n, name, labels, n*value)
	}
	histogram("time_to_first_token_seconds", 0.05)
	histogram("request_time_per_output_token_seconds", each)
	_, _ = fmt.Fprintf(w, "vllm:e2e_request_latency_seconds_sum{%s} %g\n", labels, time.Since(e.began).Seconds()*e.running)
	_, _ = fmt.Fprintf(w, "vllm:prompt_tokens_total{%s} %g\nvllm:generation_tokens_total{%s} %g\n", labels, n*e.input, labels, n*e.output)
}
