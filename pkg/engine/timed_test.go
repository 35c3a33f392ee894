package engine

import "testing"

func TestTimedIn(t *testing.T) {
	for _, test := range []struct {
		engine  *Engine
		version string
		want    bool
	}{
		{&vllm, "", true},
		{&vllm, "0.11.2", false},
		{&vllm, "0.12", true},
		{&vllm, "0.19.0", true},
		{&vllm, "0.19.1rc0", true},
		{&vllm, "0.20.0", false},
		{&sglang, "0.5.10.post1", true},
		{&sglang, "0.4.6", false},
		{&tensorRTLLM, "0.7a", false},
		{&tensorRTLLM, "0.17.0", true},
		{&tensorRTLLM, "0.20.0", false},
		{&tensorRTLLM, "1.0.0rc3", true},
		{&tensorRTLLM, "1.3.0", false},
		{&megatron, "0.1", true},
	} {
		if got := test.engine.TimedIn(test.version); got != test.want {
			t.Errorf("%s %s: times are known: %t, want %t", test.engine.Name, test.version, got, test.want)
		}
	}
	for e := range Rows() {
		if !e.TimedIn(e.Looked) {
			t.Errorf("%s: no times of %s were measured, which it was compared with", e.Name, e.Looked)
		}
	}
}
