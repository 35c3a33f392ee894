package replay

import (
	"strings"
	"testing"
)

// TestRead reads a trace of each format.
func TestRead(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    []Request
		timed   bool
		skipped int
	}{
		"Mooncake": {`{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}
{"timestamp": 30535, "input_length": 6472, "output_length": 26, "hash_ids": [46]}`, []Request{{0, 6955, 52}, {3.053, 6472, 26}}, true, 0},
		"Azure":      {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.5000000,374,44\n2023-11-16 18:15:50.0000000,396,109\n", []Request{{0, 374, 44}, {3.5, 396, 109}}, true, 0},
		"Azure 2024": {"TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n", []Request{{0, 2162, 5}}, true, 0},
		"BurstGPT": {
			"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,0,1087,Conversation log\n118,GPT-4,417,276,693,Conversation log\n",
			[]Request{{0, 472, 18}, {113, 417, 276}},
			true, 1,
		},
		"Vidur":      {"arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,128,10\n0.25,64,20\n", []Request{{0, 64, 20}, {0.25, 128, 10}}, true, 0},
		"usage":      {`{"prompt_tokens": 10, "completion_tokens": 20}`, []Request{{0, 10, 20}}, false, 0},
		"people":     {"input_tokens,output_tokens,arrival_ms\n10,20,500\n30,40,1500\n", []Request{{0, 10, 20}, {1, 30, 40}}, true, 0},
		"vllm bench": {`{"date": "20251101", "input_lens": [10, 30], "output_lens": [20, 0], "ttfts": [0.1, 0.2]}`, []Request{{0, 10, 20}}, false, 1},
		"ShareGPT": {`[{"id": "a", "conversations": [{"from": "human", "value": "` + strings.Repeat("word", 10) + `"}, {"from": "gpt", "value": "` + strings.Repeat("word", 20) + `"}]},
			{"id": "b", "conversations": [{"from": "human", "value": "hi"}]}]`, []Request{{0, 10, 20}}, false, 1},
	} {
		got, err := Read([]byte(test.content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(got.Requests) != len(test.want) || got.Timed != test.timed || got.Skipped != test.skipped || got.Source == "" {
			t.Errorf("%s: %+v, want %+v", name, got, test)
			continue
		}
		for i, want := range test.want {
			r := got.Requests[i]
			if d := r.Arrival - want.Arrival; d > 1e-6 || d < -1e-6 || r.Input != want.Input || r.Output != want.Output {
				t.Errorf("%s: request %d is %+v, want %+v", name, i, r, want)
			}
		}
	}
}

// TestReadRefuses: an error says where the mistake is and what to write instead.
func TestReadRefuses(t *testing.T) {
	for content, want := range map[string]string{
		"":                                     "the trace is empty",
		"a,b":                                  "name them input_tokens and output_tokens",
		"input_tokens,output_tokens\n1,many\n": `row 2: output_tokens: "many": give a number`,
		"input_tokens,output_tokens,arrival\n1,2,noon\n":                     `row 2: arrival: "noon"`,
		"input_tokens,output_tokens\n1,99999999\n":                           "row 2: 1 tokens in and 99999999 out",
		"input_tokens,output_tokens\n5,0\n":                                  "no request with a prompt and an answer (1 rows have none)",
		`{"input_length": 5}`:                                                "line 1: it has no tokens in or out",
		`{"input_length": 5, "output_length": {}}`:                           "line 1: output_length: map[]: give a number",
		"{\"input_length\": 5, \"output_length\": 5}\nnonsense":              "line 2: ",
		`{"input_lens": [1], "output_lens": []}`:                             "input_lens has 1 requests and output_lens 0",
		`["a"]`:                                                              "a list that is not of ShareGPT's conversations",
		"{\"arrival\": 1, \"isl\": 1, \"osl\": 1}\n{\"isl\": 1, \"osl\": 1}": "line 2: some lines have a time of arrival",
	} {
		if _, err := Read([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", content, err, want)
		}
	}
}

// TestLengths: what a planner asks of a trace.
func TestLengths(t *testing.T) {
	trace := Trace{Timed: true, Requests: []Request{{0, 100, 10}, {1, 300, 10}, {4, 200, 40}}}
	if got, want := trace.Lengths(), (Lengths{Input: 200, Output: 20, Longest: 310, Variation: 41}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := trace.Rate(); got != 0.5 {
		t.Errorf("%g requests a second, want 0.5", got)
	}
	trace.First(2)
	if len(trace.Requests) != 2 {
		t.Errorf("%d requests, want the first 2", len(trace.Requests))
	}
}

// FuzzRead: whatever is read has requests within bounds, in the order of their arrival, or is refused.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"timestamp": 27482, "input_length": 6955, "output_length": 52}`, "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,44\n",
		`[{"conversations": [{"value": "what is a rank of a model"}, {"value": "one of the processes that share it"}]}]`, `{"input_lens": [10], "output_lens": [20], "start_times": [1e308]}`, "isl,osl\n1,2\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		trace, err := Read(content)
		if err != nil {
			return
		}
		last := 0.0
		for _, r := range trace.Requests {
			if r.Arrival < last || r.Input < 1 || r.Output < 1 || r.Input > maxTokens || r.Output > maxTokens {
				t.Fatalf("%+v after %g s", r, last)
			}
			last = r.Arrival
		}
		if l := trace.Lengths(); len(trace.Requests) == 0 || l.Input < 1 || l.Output < 1 || l.Longest < l.Input || l.Variation < 0 {
			t.Fatalf("%d requests of %+v", len(trace.Requests), l)
		}
	})
}
