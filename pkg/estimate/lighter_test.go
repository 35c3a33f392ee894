package estimate

import (
	"strings"
	"testing"
)

// TestLighterSteps holds a remedy to what it promises: with the limits that a reason names, the model fits.
func TestLighterSteps(t *testing.T) {
	gptOSS := func(s *Serving) { s.Deployment = deployed(t, "GPT-OSS-120B", "H100", "vLLM", "MXFP4") }
	a := served(t, gptOSS)
	if a.Fits || !strings.Contains(a.Reason, "it fits with --max-sequences 512; else use a smaller precision") {
		t.Fatalf("GPT-OSS-120B on one H100 with vLLM's limits: fits %t, %q", a.Fits, a.Reason)
	}
	if a := served(t, func(s *Serving) { gptOSS(s); s.MaxSequences = 512 }); !a.Fits {
		t.Errorf("with 512 sequences a step: %s", a.Reason)
	}
	for name, change := range map[string]func(*Serving){
		"limits were asked for":    func(s *Serving) { gptOSS(s); s.MaxSequences = 1000 },
		"more requests than these": func(s *Serving) { gptOSS(s); s.Concurrency = 1000 },
		"its weights are too much": func(s *Serving) { s.Model = must(findModel("Llama-3.1-70B")) },
	} {
		if a := served(t, change); a.Fits || strings.Contains(a.Reason, "it fits with") {
			t.Errorf("%s: fits %t, %q", name, a.Fits, a.Reason)
		}
	}
}
