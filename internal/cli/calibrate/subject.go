package calibrate

import (
	"cmp"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/estimate"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/site"
)

// subject is what was measured, in flags.
type subject struct {
	model, device, engine, weights, kv string
	degrees                            estimate.Degrees
	replicas                           int32
}

func (s *subject) add(command *cobra.Command) {
	f := command.Flags()
	f.StringVar(&s.model, "model", "", "model that served, where the file names another one or none")
	f.StringVar(&s.device, "device", "", "device as its driver reports it (`PRODUCT`), or in short: H100, MI300X")
	f.StringVar(&s.engine, "engine", "", "engine that served, where the file does not say")
	f.StringVar(&s.weights, "weights", "", "precision that the weights were stored in (default: the checkpoint's)")
	f.StringVar(&s.kv, "kv", "", "precision of the KV cache (default: what is usual with the weights)")
	f.IntVar(&s.degrees.Tensor, "tp", 0, "tensor-parallel degree, where the file does not say")
	f.IntVar(&s.degrees.Pipeline, "pp", 0, "pipeline-parallel degree, where the file does not say")
	f.IntVar(&s.degrees.AttentionData, "dp", 0, "attention data parallel degree, where the file does not say")
	f.IntVar(&s.degrees.Expert, "ep", 0, "expert-parallel degree, where the file does not say")
	f.Int32Var(&s.replicas, "replicas", 0, "copies that served together (default: the plan's, else 1)")
	term.Complete(command, "device", accelerator.Names())
	term.Complete(command, "engine", engine.Names())
	term.Complete(command, "weights", estimate.Precisions)
	_ = command.RegisterFlagCompletionFunc("model", cobra.FixedCompletions(model.Names(), cobra.ShellCompDirectiveDefault))
}

// said is what the flags say of what served. The error names the flag.
func (s *subject) said() (*v1alpha1.Measurement, error) {
	m := &v1alpha1.Measurement{Model: s.model, Device: s.device, Replicas: s.replicas, Parallelism: &v1alpha1.Parallelism{}}
	if s.model != "" {
		if _, _, err := model.Find(s.model); err != nil {
			return nil, term.Usagef("--model: %w", err)
		}
	}
	if s.engine != "" {
		found, err := estimate.FindEngine(s.engine)
		if err != nil {
			return nil, term.Usagef("--engine: %w", err)
		}
		m.Engine = found.Name
	}
	for _, p := range []struct {
		flag, word string
		to         *v1alpha1.Precision
	}{{"weights", s.weights, &m.Weights}, {"kv", s.kv, &m.KVCacheType}} {
		if p.word == "" {
			continue
		}
		var err error
		if *p.to, err = estimate.FindPrecision(p.word); err != nil {
			return nil, term.Usagef("--%s: %w", p.flag, err)
		}
	}
	p := m.Parallelism
	for _, d := range []struct {
		flag string
		n    int
		to   **int32
	}{{"tp", s.degrees.Tensor, &p.Tensor}, {"pp", s.degrees.Pipeline, &p.Pipeline}, {"dp", s.degrees.AttentionData, &p.Data}, {"ep", s.degrees.Expert, &p.Expert}, {"replicas", int(s.replicas), nil}} {
		if d.n < 0 || d.n > math.MaxInt32 {
			return nil, term.Usagef("--%s %d: give 1 or more", d.flag, d.n)
		}
		if n := int32(d.n); n > 0 && d.to != nil {
			*d.to = &n
		}
	}
	return m, nil
}

// known is what is known of measurements beside their files: what plans say, and flags.
type known struct {
	plans
	flags *v1alpha1.Measurement
}

// complete fills in what a file does not say. The error names what is missing, or what contradicts a plan.
func (k *known) complete(m *v1alpha1.Measurement) error {
	if err := k.fromPlan(m); err != nil {
		return err
	}
	for _, a := range aspects {
		if said := a.of(k.flags); said != "" && said != a.of(m) {
			a.take(m, k.flags)
		}
	}
	m.Replicas = cmp.Or(k.flags.Replicas, m.Replicas, 1)
	if m.Parallelism == nil {
		m.Parallelism = &v1alpha1.Parallelism{}
	}
	if m.Parallelism.Tensor == nil {
		one := int32(1)
		m.Parallelism.Tensor = &one
	}
	switch {
	case m.Model == "":
		return term.Usagef("the file does not name the model: add --model, or -f with the ShardingPlan")
	case m.Device == "":
		return term.Usagef("the file does not name the device: add --device, or -f with the ShardingPlan and the inventories of its nodes")
	case m.Engine == "":
		return term.Usagef("the file does not name the engine: add --engine, or -f with the ShardingPlan")
	case m.CacheTokens == 0 && (m.InputTokens == 0 || m.OutputTokens == 0):
		return term.Usagef("the file does not say how long requests are: add -f with the ShardingPlan and its ModelPlacement that has inputTokens and outputTokens")
	}
	if _, _, err := model.Find(m.Model); err != nil {
		return fmt.Errorf("model: %w; or name it with --model", err)
	}
	product, err := accelerator.Find(m.Device)
	m.Device = product.Name
	return err
}

// fromPlan fills in what the plan says that was measured, if there is one.
func (k *known) fromPlan(m *v1alpha1.Measurement) error {
	plan, err := k.of(m, k.flags)
	if plan == nil || err != nil {
		return err
	}
	if _, _, err := model.Find(plan.Spec.Model.Name); err != nil {
		return fmt.Errorf("plan %s: %w", plan.Name, err)
	}
	product, err := k.product(plan)
	if err != nil {
		return err
	}
	planned, err := site.OfPlan(&plan.Spec, product)
	if err != nil {
		return fmt.Errorf("plan %s: %w", plan.Name, err)
	}
	if err := contradiction(plan.Name, &planned, m, k.flags); err != nil {
		return err
	}
	site.Complete(m, &planned)
	k.lengths(plan, m)
	return nil
}
