package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/occupancy"
)

// serving is what the server does beside decoding token by token, as figures depend on it: plain values, by which they are kept. The
// zero value is nothing, and the engine's defaults.
type serving struct {
	permille      int64   // utilization
	shared        int64   // tokens with which all prompts begin
	found, hosted float64 // tokens of a prompt that are found on the devices, and in the memory of hosts
	offloads      bool    // what preempted requests held is found there too
	slots, rank   int64   // of adapters
	speculation   v1alpha1.Speculation
	costs         string // of an old version
	version       string // of the engine
	untimed       bool   // times of that version were not measured
	media         int64  // tokens of the largest image or sound
	patches       float64
}

// Vectors that encoders read for each token that they make of an image, and for a second of sound. Source: two by two patches become a
// token in Qwen2-VL (arXiv 2409.12191, section 2.1) and InternVL (2404.16821, section 3.2); encoders of sound follow Whisper's, whose
// 30 seconds are 1500 positions (2212.04356, section 2.2).
const (
	patchesPerToken  = 4
	patchesPerSecond = 50
)

// readServing reads what the server is to do; nothing where the workload does not say.
func (t *Problem) readServing() error {
	t.Defaults, t.limits = &t.Engine.Memory, t.request.Limits
	in := t.Workload.Inference
	if in == nil || in.Serving == nil {
		return nil
	}
	o := in.Serving
	refuse := func(field, value, remedy string) error {
		return invalid("workload.inference.serving"+field, value, remedy)
	}
	for _, b := range servingBounds(o) {
		if b.value < b.least || b.value > b.most {
			return refuse("."+b.field, fmt.Sprint(b.value), fmt.Sprintf("it must be from %d to %d", b.least, b.most))
		}
	}
	if o.ChunkedPrefill != "" && o.ChunkedPrefill != v1alpha1.ChunkedPrefillEnabled && o.ChunkedPrefill != v1alpha1.ChunkedPrefillDisabled {
		return refuse(".chunkedPrefill", string(o.ChunkedPrefill), "use Enabled or Disabled")
	}
	if err := servingTogether(o, refuse); err != nil {
		return err
	}
	if err := t.Engine.RefusesServing(o); err != nil {
		return refuse("", "more than the engine does", err.Error())
	}
	t.Defaults = t.Engine.MemoryIn(o.EngineVersion)
	s := serving{
		permille: o.Permille(), costs: t.Engine.CostsIn(o.EngineVersion), version: o.EngineVersion, untimed: !t.Engine.TimedIn(o.EngineVersion),
	}
	if s.permille == 0 && t.Defaults.Permille != t.Engine.Memory.Permille {
		s.permille = t.Defaults.Permille
	}
	if err := t.readMedia(&s, o.Media, refuse); err != nil {
		return err
	}
	t.readPrefixes(&s, o)
	if a := o.Adapters; a != nil {
		s.slots, s.rank = int64(a.Slots())+t.Engine.Serves.SpareAdapters, t.Engine.AdapterRank(int64(a.Rank))
	}
	if sp := o.Speculation; sp != nil {
		s.speculation = *sp
		if err := t.readDraft(sp, refuse); err != nil {
			return err
		}
	}
	if t.limits.Tokens == 0 {
		t.limits.Tokens = int64(o.MaxBatchedTokens)
	}
	if o.ChunkedPrefill == v1alpha1.ChunkedPrefillDisabled {
		t.limits.Tokens = max(t.limits.Tokens, int64(in.MaxModelLen))
	}
	t.served = s
	return nil
}

// bounded is a field of the options with the API's bounds.
type bounded struct {
	field              string
	value, least, most int64
}

// servingBounds are the bounds of the fields that are set.
func servingBounds(o *v1alpha1.ServingOptions) []bounded {
	list := []bounded{
		{"memoryUtilizationPercent", int64(o.MemoryUtilizationPercent), 0, 100}, {"maxBatchedTokens", int64(o.MaxBatchedTokens), 0, 1 << 24},
	}
	if p := o.PrefixCache; p != nil {
		list = append(list, bounded{"prefixCache.hitPercent", int64(p.HitPercent), 0, 99}, bounded{"prefixCache.sharedTokens", int64(p.SharedTokens), 0, 1 << 24})
	}
	if f := o.Offload; f != nil {
		list = append(list, bounded{"offload.giB", int64(f.GiB), 1, 1 << 20}, bounded{"offload.hitPercent", int64(f.HitPercent), 0, 99})
	}
	if s := o.Speculation; s != nil {
		list = append(list, bounded{"speculation.tokens", int64(s.Tokens), 1, 16}, bounded{"speculation.acceptancePercent", int64(s.AcceptancePercent), 0, 100})
	}
	if a := o.Adapters; a != nil {
		list = append(list, bounded{"adapters.count", int64(a.Count), 1, 1 << 16}, bounded{"adapters.rank", int64(a.Rank), 1, 512}, bounded{"adapters.active", int64(a.Active), 0, int64(min(a.Count, 1024))})
	}
	if m := o.Media; m != nil {
		list = append(list,
			bounded{"media.images", int64(m.Images), 0, 1024}, bounded{"media.imageTokens", int64(m.ImageTokens), 0, 1 << 20},
			bounded{"media.audioSeconds", int64(m.AudioSeconds), 0, 86400}, bounded{"media.audioTokensPerSecond", int64(m.AudioTokensPerSecond), 0, 1000})
	}
	return list
}

// servingTogether refuses fields that mean nothing without another, as the API does: what asks the planner by flags has not been there.
func servingTogether(o *v1alpha1.ServingOptions, refuse func(field, value, remedy string) error) error {
	if s := o.Speculation; s != nil {
		named := s.Model != ""
		switch loads := s.Method == v1alpha1.SpeculationDraft || s.Method == v1alpha1.SpeculationEAGLE; {
		case loads && !named:
			return refuse(".speculation.model", "absent", fmt.Sprintf("name what drafts by %s, by its id on the hub; or use MTP or NGram", s.Method))
		case !loads && named:
			return refuse(".speculation.model", s.Model, fmt.Sprintf("%s loads no model of its own: leave it out, or use Draft or EAGLE", s.Method))
		case s.Parameters > 0 && !named:
			return refuse(".speculation.parameters", fmt.Sprint(s.Parameters), "they are those of speculation.model: name it, or leave them out")
		}
	}
	if m := o.Media; m != nil {
		switch {
		case m.Images == 0 && m.AudioSeconds == 0:
			return refuse(".media", "given", "it has neither images nor audioSeconds: leave it out where prompts are text")
		case (m.Images > 0) != (m.ImageTokens > 0):
			return refuse(".media.imageTokens", fmt.Sprint(m.ImageTokens), fmt.Sprintf("images is %d: set both, to the images of a prompt and the tokens that the model makes of one", m.Images))
		case (m.AudioSeconds > 0) != (m.AudioTokensPerSecond > 0):
			return refuse(".media.audioTokensPerSecond", fmt.Sprint(m.AudioTokensPerSecond), fmt.Sprintf("audioSeconds is %d: set both, to the length of a prompt's sound and the tokens that the model makes of a second", m.AudioSeconds))
		}
	}
	return nil
}

// readMedia reads images and sound, whose tokens come beside those of the text.
func (t *Problem) readMedia(s *serving, m *v1alpha1.Media, refuse func(field, value, remedy string) error) error {
	if m == nil {
		return nil
	}
	in, a := t.Workload.Inference, &t.Model.Architecture
	if a.OtherParameters == 0 || a.Encoder != nil {
		return refuse(".media", "given", fmt.Sprintf("no encoder of images or sound is known of %s that makes tokens of its prompts: leave it out, or give the model's config.json", t.Model.Name))
	}
	t.mediaTokens, s.media = m.Tokens()
	s.patches = float64(m.Images)*float64(m.ImageTokens)*patchesPerToken + float64(m.AudioSeconds)*patchesPerSecond
	text := int64(1)
	if in.InputTokens != nil {
		text = int64(*in.InputTokens)
	}
	if in.OutputTokens != nil {
		text += int64(*in.OutputTokens)
	}
	if text+t.mediaTokens > int64(in.MaxModelLen) {
		return refuse(".media", fmt.Sprintf("%d tokens", t.mediaTokens), fmt.Sprintf("with %d tokens of text that is more than maxModelLen %d: raise it", text, in.MaxModelLen))
	}
	return nil
}

// readPrefixes reads what of prompts is found in a cache.
func (t *Problem) readPrefixes(s *serving, o *v1alpha1.ServingOptions) {
	input := float64(t.Input())
	if p := o.PrefixCache; p != nil {
		s.shared = min(int64(p.SharedTokens), t.Input())
		s.found = max(input*float64(p.HitPercent)/100, float64(s.shared))
	}
	if f := o.Offload; f != nil {
		s.offloads = true
		s.hosted = min(input*float64(f.HitPercent)/100, max(0, input-s.found-1))
	}
}

// readDraft checks what drafts tokens. An engine that speculates in one stage alone gets no pipeline.
func (t *Problem) readDraft(s *v1alpha1.Speculation, refuse func(field, value, remedy string) error) error {
	d, err := t.Model.Drafter(s)
	if err != nil {
		value := string(s.Method)
		if s.Model != "" {
			value = s.Model
		}
		return refuse(".speculation", value, err.Error())
	}
	if d != nil {
		t.drafts = engine.TensorDegrees(&d.Model.Architecture, maxTensor)
		if n := t.Asked.Tensor; n > 0 && !slices.Contains(t.drafts, n) {
			return refuse(".speculation", d.Model.Name, fmt.Sprintf("parallelism.tensor %d does not divide it: use one of %v, or another draft model", n, t.drafts))
		}
	}
	if o := t.Engine.Offer(engine.Feature("speculation.method " + string(s.Method))); o.OneData {
		if t.Asked.Data > 1 {
			return refuse(".speculation", string(s.Method), fmt.Sprintf("%s does not draft tokens so with data %d (%s): ask for data 1, or use another method", t.Engine.Name, t.Asked.Data, o.Source))
		}
		t.Asked.Data = 1
	}
	if source := t.Engine.Serves.OneStage; source != "" {
		if t.Asked.Stages > 1 {
			return refuse(".speculation", string(s.Method), fmt.Sprintf("%s does not draft tokens with pipeline %d (%s): ask for pipeline 1, or leave speculation out", t.Engine.Name, t.Asked.Stages, source))
		}
		t.Asked.Stages = 1
	}
	return nil
}

// setup fills in what memory depends on.
func (s *serving) setup(setup *memory.Setup) error {
	in := setup.Inference
	setup.EngineVersion = s.version
	in.Utilization, in.Shared, in.AdapterSlots, in.AdapterRank, in.MediaTokens = s.permille, s.shared, s.slots, s.rank, s.media
	if in.Drafted = int64(s.speculation.Tokens); in.Drafted == 0 {
		return nil
	}
	var err error
	setup.Draft, err = setup.Model.Drafter(&s.speculation)
	return err
}

// options are what times depend on, of a model with so many tokens of a prompt.
func (s *serving) options(draft *cost.Profile) cost.Options {
	return cost.Options{
		Found: s.found + s.hosted, Returned: s.hosted, Drafted: float64(s.speculation.Tokens), Acceptance: float64(s.speculation.AcceptancePercent) / 100,
		Draft: draft, Adapters: float64(s.slots), AdapterRank: float64(s.rank), Patches: s.patches,
	}
}

// profiles are the operators of a model, and of what drafts for it; nil where nothing of the devices does.
func (s *serving) profiles(m *model.Model, load *loadKey) (of, draft *cost.Profile) {
	of = cost.NewProfile(m, cost.Stored(m, load.weights, load.cache))
	if s.slots > 0 {
		of = of.WithAdapters(m)
	}
	if s.speculation.Tokens == 0 {
		return of, nil
	}
	d, err := m.Drafter(&s.speculation)
	if err != nil || d == nil {
		return of, nil
	}
	weights := d.Weights
	if weights == "" {
		weights = load.weights
	}
	draft = of.WithDraft(d, cost.Stored(d.Model, weights, load.cache))
	return of, draft
}

// Press sets what comes of a cache that does not always hold all requests: where hosts keep what leaves the devices, it is copied back
// instead of computed again.
func (t *Problem) Press(w *cost.Workload, p occupancy.Pressure) {
	w.Again, w.Returned = p.Again, t.served.hosted
	if t.served.offloads {
		w.Again, w.Returned = 0, t.served.hosted+p.Again
	}
}

// Permille returns the part of a device's memory that the engine takes, in thousandths; 0 where it is the default of the engine's row.
func (t *Problem) Permille() int64 { return t.served.permille }

// Served returns what the server was planned to do, with its defaults filled in and the id on the hub of a draft model that was asked for by its
// name in the catalogue, which no server knows; nil where nothing was asked for.
func (t *Problem) Served() *v1alpha1.ServingOptions {
	in := t.Workload.Inference
	if in == nil || in.Serving == nil {
		return nil
	}
	o := in.Serving.DeepCopy()
	if t.served.permille > 0 {
		o.MemoryUtilizationPercent = int32(t.served.permille / 10)
	}
	if a := o.Adapters; a != nil {
		a.Active = a.Slots()
	}
	if s := o.Speculation; s != nil && s.Method == v1alpha1.SpeculationDraft && !strings.Contains(s.Model, "/") {
		if m, err := model.Lookup(s.Model); err == nil && m.Checkpoint != "" {
			s.Model = m.Checkpoint
		}
	}
	return o
}

// AssumedOfServing says what times and memory count of what the server does, a sentence each.
func (t *Problem) AssumedOfServing() []string {
	in := t.Workload.Inference
	if in == nil || in.Serving == nil {
		return nil
	}
	var list []string
	o := in.Serving
	if s := o.Speculation; s != nil {
		w := cost.Workload{Options: t.served.options(nil)}
		list = append(list, fmt.Sprintf("a step gives each sequence %.3g tokens: of %d drafted by %s, each is accepted %d %% of the times when those before it are", w.Accepted(), s.Tokens, s.Method, s.AcceptancePercent))
		if d, err := t.Model.Drafter(s); err == nil && d != nil && d.Assumption != "" {
			list = append(list, d.Assumption)
		}
	}
	if f := o.Offload; f != nil {
		list = append(list, fmt.Sprintf("%d GiB of KV cache of each copy are in the memory of its hosts: its pods must ask for as much beside their own", f.GiB))
		if t.Engine.Serves.HostAboveDevice {
			list = append(list, fmt.Sprintf("%s starts only where the host memory of a rank is more than the KV cache that its device has room for", t.Engine.Name))
		}
	}
	if o.Adapters != nil && t.Model.Architecture.MoE != nil {
		text := "adapters are counted in attention and shared blocks, and not in routed experts"
		if t.Engine.Serves.ExpertAdapters {
			text = fmt.Sprintf("%s makes room for adapters in routed experts too, whose time is not counted", t.Engine.Name)
		}
		list = append(list, text)
	}
	if o.Media != nil {
		list = append(list, fmt.Sprintf("encoders read %d vectors for a token of an image and %d for a second of sound, with all %d parameters outside of the layers", patchesPerToken, patchesPerSecond, t.Model.Architecture.OtherParameters))
	}
	return list
}
