package memory

import (
	"fmt"

	"github.com/rankwright/rankwright/pkg/engine"
)

// contextBytes is what the driver takes on a device for the context of a process, beyond the engine's own limit. Source:
// vLLM's start-up lines, 0.2 to 0.5 GiB in use before a model is loaded.
const contextBytes = 512 * mib

// Room is what a device has for the cache beside everything else.
type Room struct {
	// Limit is the bytes that the engine may take for the components of Use, Free what is left of them for the cache.
	Limit, Free int64
	// Sequences is how many sequences of the longest length have room in the cache, Running how many as they run.
	Sequences, Running int64
	// Reason says what is missing; empty where the asked sequences fit.
	Reason string
}

// Fits says whether the setup fits.
func (r Room) Fits() bool { return r.Reason == "" }

// Room is how the layers first to end-1 fit a device under the engine's rule:
//
//   - vLLM: everything stays below utilization x total, which must be free at start-up;
//   - SGLang: weights and cache stay below utilization x total, the rest of the device holds everything else;
//   - TensorRT-LLM: the cache takes utilization x what everything else leaves free;
//   - the others, and training: everything fits what is free.
//
// The device must be one that Check takes. An instance has as many sequences as its tightest stage, times AttentionData.
func (f *Footprint) Room(first, end int, d Device) Room {
	u := f.Use(first, end)
	free := bounded(d.visible() - d.OthersBytes - contextBytes)
	r := f.limit(u, d, free)
	if r.Reason == "" {
		r.Reason = f.refuseLoading(first, end, free)
	}
	if d.HeldBackBytes > 0 {
		r.Limit, r.Free = r.Limit-d.HeldBackBytes, r.Free-d.HeldBackBytes
		if r.Free < 0 && r.Reason == "" {
			r.Reason = fmt.Sprintf("%s are missing, since %s are held back by what was measured here: use a smaller precision, more devices or larger ones", text(-r.Free), text(d.HeldBackBytes))
		}
	}
	r.Free = max(0, r.Free)
	r.Sequences, r.Running = f.roomFor(first, end, max(0, r.Free-f.step.of(first, end)))
	if r.Reason == "" && u.Cache > r.Free {
		r.Reason = fmt.Sprintf("the cache of %d sequences takes %s and %s are left for it: lower maxModelLen or sequences, or use a smaller precision or more devices",
			f.sequences(), text(u.Cache), text(r.Free))
	}
	return r
}

// limit applies the engine's rule. It sets a reason where not even an empty cache fits.
func (f *Footprint) limit(u Use, d Device, free int64) Room {
	if f.training != nil {
		r := Room{Limit: free, Free: free - u.beside()}
		if r.Free < 0 {
			r.Reason = fmt.Sprintf("%s are needed and %s are free: use a smaller precision, more devices or larger ones", text(u.beside()), text(free))
		}
		return r
	}
	utilized := func(of int64) int64 { return part(of, f.setup.Inference.Utilization, 1000) }
	switch f.counter.engine.Rule {
	case engine.StaticOfTotal:
		limit := utilized(d.visible())
		r := below(limit, Use{Weights: u.Weights}, "the engine's part of the device")
		if rest := free - limit; r.Reason == "" && rest < u.beside()-u.Weights {
			r.Reason = fmt.Sprintf("beside weights and cache the engine needs %s and %s are left: lower the utilization", text(u.beside()-u.Weights), text(rest))
		}
		return r
	case engine.OfFree:
		r := below(free, u, "what is free")
		r.Free = utilized(r.Free)
		return r
	default:
		limit := utilized(d.visible())
		if f.setup.Inference.Utilization < 1000 && limit > free {
			return Room{Limit: limit, Reason: fmt.Sprintf("the engine takes %s of the device at start-up and %s are free: lower the utilization or free the device", text(limit), text(free))}
		}
		return below(min(limit, free), u, "the engine's part of the device")
	}
}

// below returns the room that a use leaves for its cache under a limit.
func below(limit int64, u Use, what string) Room {
	r := Room{Limit: limit, Free: limit - u.beside()}
	if r.Free < 0 {
		r.Reason = fmt.Sprintf("%s are needed beside the cache and %s is %s: use a smaller precision, more devices or larger ones", text(u.beside()), what, text(limit))
	}
	return r
}

// text writes an amount for people.
func text(bytes int64) string {
	if bytes < 0 {
		return "-" + text(-bytes)
	}
	return fmt.Sprintf("%.2f GiB", float64(bytes)/gib)
}
