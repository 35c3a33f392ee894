package memory

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// TestExplainOffer holds the last line to Offer, for every engine, and the formulas to their numbers.
func TestExplainOffer(t *testing.T) {
	h100 := Device{Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", TotalBytes: 81559 * mib}
	busy := h100
	busy.OthersBytes = 20000 * mib
	slightly := h100
	slightly.OthersBytes = 700 * mib
	mi300 := Device{Vendor: "amd", Product: "AMD Instinct MI300X OAM", TotalBytes: 196592 * mib}
	for _, device := range []Device{h100, busy, slightly, mi300} {
		for _, name := range engine.Names() {
			name := v1alpha1.Engine(name)
			for _, training := range []bool{false, true} {
				lines := ExplainOffer(name, training, 0, device)
				if last := lines[len(lines)-1]; last.Name != "offered" || last.Bytes != Offer(name, training, 0, device) {
					t.Errorf("%s, training %t: %+v, want an offer of %d", name, training, last, Offer(name, training, 0, device))
				}
			}
		}
	}
	for _, test := range []struct {
		engine v1alpha1.Engine
		device Device
		want   []string
	}{
		{v1alpha1.EngineVLLM, h100, []string{"81559 MiB - 637 MiB that the driver keeps", "0.9 × 80921 MiB", "the engine's part, which is free"}},
		{v1alpha1.EngineVLLM, busy, []string{"- 20000 MiB that other processes hold", "wants its part free"}},
		{v1alpha1.EngineSGLang, slightly, []string{"for weights and cache alone"}},
		{v1alpha1.EngineSGLang, busy, []string{"more than a 100th"}},
		{v1alpha1.EngineTensorRTLLM, busy, []string{"all of it"}},
		{v1alpha1.EngineTorch, mi300, []string{"what is free"}},
	} {
		var text strings.Builder
		for _, l := range ExplainOffer(test.engine, false, 0, test.device) {
			text.WriteString(l.Formula + "\n")
		}
		for _, want := range test.want {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s: %q is not in %s", test.engine, want, text.String())
			}
		}
	}
}

// TestAvailable holds what all components may take together: no less than the offer, and no more than what is free.
func TestAvailable(t *testing.T) {
	d := Device{Vendor: "nvidia", TotalBytes: 81559 * mib, OthersBytes: 100 * mib}
	for _, name := range engine.Names() {
		name := v1alpha1.Engine(name)
		got, free := Available(name, false, 0, d), d.visible()-d.OthersBytes-contextBytes
		if got < Offer(name, false, 0, d) || got > free {
			t.Errorf("%s: %d bytes, the offer is %d of %d that are free", name, got, Offer(name, false, 0, d), free)
		}
	}
}
