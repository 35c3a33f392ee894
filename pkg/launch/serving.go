package launch

import (
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// gib is the unit of ServingOptions.Offload.
const gib = 1 << 30

// optional tells a value where the engine has an argument for its purpose, and has not where it does that unasked.
func (w *command) optional(p engine.Purpose, value any) {
	if w.of.Arguments.For(p) != nil {
		w.tell(p, value)
	}
}

// memory tells what part of a device the engine takes, and what its cache does with tokens that others have too or that must leave the
// device.
func (w *command) memory(c *Copy) {
	permille := w.of.Memory.Permille
	if asked := c.Serving.Permille(); asked > 0 {
		permille = asked
	}
	w.tell(engine.ForUtilization, strconv.FormatFloat(float64(permille)/1000, 'f', -1, 64))
	o := c.Serving
	if o == nil {
		return
	}
	if o.PrefixCache != nil {
		w.optional(engine.ForPrefixes, true)
	}
	if o.Offload != nil {
		w.optional(engine.ForHostCacheOn, true)
		w.tell(engine.ForHostCache, w.hostCache(c))
		w.optional(engine.ForHostCacheKind, "native")
	}
}

// hostCache is the memory of hosts for the KV cache in the engine's unit, that of each data rank or of each rank.
func (w *command) hostCache(c *Copy) int64 {
	bytes, s := int64(c.Serving.Offload.GiB)*gib, &w.of.Serves
	if s.EachRank {
		bytes /= int64(max(1, c.World))
	} else {
		bytes /= int64(max(1, c.Strategy.Data))
	}
	return max(1, bytes/s.HostUnit)
}

// options tells what the server does beside decoding one token after the other.
func (w *command) options(c *Copy) {
	o := c.Serving
	if o == nil {
		return
	}
	switch o.ChunkedPrefill {
	case v1alpha1.ChunkedPrefillEnabled:
		w.optional(engine.ForChunks, true)
	case v1alpha1.ChunkedPrefillDisabled:
		if w.of.Arguments.For(engine.ForNoChunks) != nil {
			w.tell(engine.ForNoChunks, nil)
		} else {
			w.optional(engine.ForChunks, false)
		}
	}
	if s := o.Speculation; s != nil {
		w.speculation(s)
	}
	if a := o.Adapters; a != nil {
		w.optional(engine.ForAdapters, nil)
		w.tell(engine.ForAdapterSlots, int64(a.Slots())+w.of.Serves.SpareAdapters)
		w.tell(engine.ForAdapterRank, w.of.AdapterRank(int64(a.Rank)))
		w.tell(engine.ForAdaptersKept, max(int64(a.Count), int64(a.Slots())+w.of.Serves.SpareAdapters))
		if modules := w.of.Arguments.For(engine.ForAdapterModules); modules != nil {
			w.tell(engine.ForAdapterModules, strings.Join(modules.Values, ","))
		}
	}
	if m := o.Media; m != nil {
		w.optional(engine.ForMedia, nil)
		w.optional(engine.ForImages, m.Images)
		w.optional(engine.ForSounds, min(1, m.AudioSeconds))
	}
}

// speculation tells what drafts tokens and how many: by the tokens that are drafted, or by those that are verified.
func (w *command) speculation(s *v1alpha1.Speculation) {
	offered := w.of.Offer(engine.Feature("speculation.method " + string(s.Method)))
	if offered == nil {
		w.add("")
		return
	}
	for _, p := range offered.By {
		switch p {
		case engine.ForDrafter:
			w.tell(p, offered.Word)
		case engine.ForDraftModel:
			w.tell(p, s.Model)
		case engine.ForDraftBranches:
			w.tell(p, 1)
		case engine.ForVerified:
			w.tell(p, s.Tokens+1)
		default:
			w.tell(p, s.Tokens)
		}
	}
}
