package calibrate

import (
	"fmt"
	"strconv"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/site"
)

// aspect is one thing that flags, files and plans say of what served.
type aspect struct {
	// flag is the name of the flag, field that of a plan's spec.
	flag, field string
	// of is what a measurement says, "" where that is nothing.
	of func(*v1alpha1.Measurement) string
	// take sets it to what another one says.
	take func(to, from *v1alpha1.Measurement)
}

var aspects = []aspect{
	{"model", "model.name", modelOf, func(to, from *v1alpha1.Measurement) { to.Model = from.Model }},
	{"device", "nodes[].devices", deviceOf, func(to, from *v1alpha1.Measurement) { to.Device = from.Device }},
	{"engine", "engine", engineOf, func(to, from *v1alpha1.Measurement) { to.Engine = from.Engine }},
	{"weights", "quantization", weightsOf, func(to, from *v1alpha1.Measurement) { to.Weights = v1alpha1.Precision(weightsOf(from)) }},
	{"kv", "kvCacheType", func(m *v1alpha1.Measurement) string { return string(m.KVCacheType) }, func(to, from *v1alpha1.Measurement) { to.KVCacheType = from.KVCacheType }},
	degree("tp", "strategy.tensor", func(p *v1alpha1.Parallelism) **int32 { return &p.Tensor }),
	degree("pp", "strategy.pipeline", func(p *v1alpha1.Parallelism) **int32 { return &p.Pipeline }),
	degree("dp", "strategy.data", func(p *v1alpha1.Parallelism) **int32 { return &p.Data }),
	degree("ep", "strategy.expert", func(p *v1alpha1.Parallelism) **int32 { return &p.Expert }),
}

// modelOf is the catalogue's name; "" for a name of the server's own.
func modelOf(m *v1alpha1.Measurement) string {
	found, _, err := model.Find(m.Model)
	if err != nil {
		return ""
	}
	return found.Name
}

func deviceOf(m *v1alpha1.Measurement) string {
	if product, err := accelerator.Find(m.Device); err == nil {
		return product.Name
	}
	return m.Device
}

// engineOf leaves out what a benchmark takes the engine for: it knows the protocol alone.
func engineOf(m *v1alpha1.Measurement) string {
	if m.Source.Tool != "" && !site.ByEngine(m) {
		return ""
	}
	return string(m.Engine)
}

// weightsOf is the precision that is given, or that the name of a checkpoint says.
func weightsOf(m *v1alpha1.Measurement) string {
	if m.Weights != "" {
		return string(m.Weights)
	}
	if found, stored, err := model.Find(m.Model); err == nil && stored != found.Native {
		return string(stored)
	}
	return ""
}

// degree is a degree of parallelism.
func degree(flag, field string, in func(*v1alpha1.Parallelism) **int32) aspect {
	return aspect{flag, field, func(m *v1alpha1.Measurement) string {
		if m.Parallelism == nil || *in(m.Parallelism) == nil {
			return ""
		}
		return strconv.Itoa(int(**in(m.Parallelism)))
	}, func(to, from *v1alpha1.Measurement) {
		if to.Parallelism == nil {
			to.Parallelism = &v1alpha1.Parallelism{}
		}
		*in(to.Parallelism) = *in(from.Parallelism)
	}}
}

// contradiction is the first thing that a file or flags say and a plan says otherwise; nil where there is none.
func contradiction(plan string, planned, file, flags *v1alpha1.Measurement) error {
	for _, a := range aspects {
		want := a.of(planned)
		if said := a.of(flags); said != "" && want != "" && said != want {
			return term.Usagef("--%s %s: plan %s has %s in spec.%s: leave --%s out, or give the plan that was measured", a.flag, said, plan, want, a.field, a.flag)
		}
		if said := a.of(file); said != "" && want != "" && said != want {
			return fmt.Errorf("it says %s for --%s, and plan %s has %s in spec.%s: give the plan that was measured", said, a.flag, plan, want, a.field)
		}
	}
	if n := flags.Replicas; n > planned.Replicas {
		return term.Usagef("--replicas %d: plan %s has %d in spec.strategy.replicas: leave --replicas out, or give fewer where only some copies were measured", n, plan, planned.Replicas)
	}
	if n := file.Replicas; n > planned.Replicas {
		return fmt.Errorf("it says %d for --replicas, and plan %s has %d in spec.strategy.replicas: give the plan that was measured", n, plan, planned.Replicas)
	}
	limits := planned.StepLimits
	if limits == nil || limits.Length == 0 {
		return nil
	}
	if n := int64(file.InputTokens) + int64(file.OutputTokens); n > limits.Length {
		return fmt.Errorf("its requests have %d tokens, and plan %s has %d in spec.stepLimits.length: give the plan that was measured", n, plan, limits.Length)
	}
	if n := int64(file.MaxModelLen); n > 0 && n != limits.Length {
		return fmt.Errorf("it says %d for the longest sequence, and plan %s has %d in spec.stepLimits.length: give the plan that was measured", n, plan, limits.Length)
	}
	return nil
}
