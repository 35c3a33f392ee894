package memory

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// OfferLine is a step of the arithmetic of Offer.
type OfferLine struct {
	Name  string
	Bytes int64
	// Formula is the arithmetic with the numbers put in, in MiB.
	Formula string
}

// ExplainOffer returns the arithmetic of Offer. The last line is the offer.
func ExplainOffer(name v1alpha1.Engine, training bool, permille int64, d Device) []OfferLine {
	held := d.HeldBackBytes
	d.HeldBackBytes = 0
	lines := explainOffer(name, training, permille, d)
	if held > 0 {
		whole := lines[len(lines)-1].Bytes
		lines[len(lines)-1].Name = "offered at most"
		lines = append(lines, OfferLine{"offered", max(0, whole-held), fmt.Sprintf("%s - %s that the engine was seen here to have less for its cache", amount(whole), amount(held))})
	}
	return lines
}

func explainOffer(name v1alpha1.Engine, training bool, permille int64, d Device) []OfferLine {
	visible := d.visible()
	lines := []OfferLine{{"reported by the driver", d.TotalBytes, ""}}
	switch {
	case d.VisibleBytes > 0:
		lines = append(lines, OfferLine{"a process sees", visible, "as the runtime says"})
	case d.driver() > 0:
		lines = append(lines, OfferLine{"a process sees", visible, fmt.Sprintf("%s - %s that the driver keeps", amount(d.TotalBytes), amount(d.driver()))})
	}
	free := bounded(visible - d.OthersBytes - contextBytes)
	formula := fmt.Sprintf("%s - %s for the driver's context", amount(visible), amount(contextBytes))
	if d.OthersBytes > 0 {
		formula += fmt.Sprintf(" - %s that other processes hold", amount(d.OthersBytes))
	}
	lines = append(lines, OfferLine{"free for a process", free, formula})
	offer := Offer(name, training, permille, d)
	e, err := engine.Find(name)
	if err != nil || training || e.Memory.Rule == engine.OfFree {
		return append(lines, OfferLine{"offered", offer, "all of it"})
	}
	fill(&permille, e.Memory.Permille)
	limit := part(visible, permille, 1000)
	if permille < 1000 {
		lines = append(lines, OfferLine{string(e.Name) + " may take", limit, fmt.Sprintf("%s × %s", share(permille), amount(visible))})
	}
	return append(lines, OfferLine{"offered", offer, reason(e.Memory.Rule, limit, free, offer)})
}

// reason says whether the offer is the engine's part or the free memory.
func reason(r engine.Rule, limit, free, offer int64) string {
	switch {
	case offer == 0 && r == engine.StaticOfTotal:
		return "none: others hold more than a 100th of the device, where the engine keeps its activations"
	case offer == 0:
		return "none: the engine wants its part free at start-up"
	case r == engine.StaticOfTotal:
		return "the engine's part, for weights and cache alone"
	case limit <= free:
		return "the engine's part, which is free"
	default:
		return "what is free"
	}
}

// amount writes bytes in whole MiB.
func amount(bytes int64) string { return fmt.Sprintf("%d MiB", bytes/mib) }

// share writes permille as a decimal.
func share(permille int64) string { return fmt.Sprintf("%g", float64(permille)/1000) }

// Available returns the bytes that a device has for all components together. Under vLLM's rule that is Offer, else the
// free memory, of which the engine's rule may leave a part to some components alone.
func Available(name v1alpha1.Engine, training bool, permille int64, d Device) int64 {
	if e, err := engine.Find(name); err == nil && e.Memory.Rule == engine.OfTotal {
		return Offer(name, training, permille, d)
	}
	return bounded(d.visible() - d.OthersBytes - contextBytes)
}
