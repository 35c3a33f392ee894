package calibrate

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/planning"
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
	f.Int32Var(&s.replicas, "replicas", 1, "copies that served together")
	term.Complete(command, "device", accelerator.Names())
	term.Complete(command, "engine", engine.Names())
	term.Complete(command, "weights", estimate.Precisions)
	_ = command.RegisterFlagCompletionFunc("model", cobra.FixedCompletions(model.Names(), cobra.ShellCompDirectiveDefault))
}

// known is what is known of measurements beside their files: flags, which count first, and plans.
type known struct {
	*subject
	plans    []v1alpha1.ShardingPlan
	products map[v1alpha1.DeviceID]string // of devices by node and id
}

func (f *flags) known(streams term.Streams) (*known, error) {
	k := &known{subject: &f.subject, products: map[v1alpha1.DeviceID]string{}}
	if len(f.plans) == 0 {
		return k, nil
	}
	m, err := planning.ReadManifests(f.plans, streams)
	if err != nil {
		return nil, err
	}
	if k.plans = m.Plans; len(k.plans) == 0 {
		return nil, errors.New("--plan: no ShardingPlan in the files: give one as plan -o yaml or kubectl prints it")
	}
	for i := range m.Inventories {
		for _, d := range m.Inventories[i].Status.Devices {
			k.products[at(m.Inventories[i].Name, d.ID)] = d.Product
		}
	}
	return k, nil
}

func at(node string, id v1alpha1.DeviceID) v1alpha1.DeviceID {
	return v1alpha1.DeviceID(node+"/") + id
}

// complete fills in what a file does not say. The error names what is missing.
func (k *known) complete(m *v1alpha1.Measurement) error {
	if k.model != "" {
		m.Model = k.model
	}
	plan, err := k.planOf(m)
	if err != nil {
		return err
	}
	if plan != nil {
		k.from(plan, m)
	}
	if err := k.fromFlags(m); err != nil {
		return err
	}
	switch {
	case m.Model == "":
		return term.Usagef("the file does not name the model: add --model or --plan")
	case m.Device == "":
		return term.Usagef("the file does not name the device: add --device, or --plan with inventories")
	case m.Engine == "":
		return term.Usagef("the file does not name the engine: add --engine or --plan")
	}
	if _, _, err := model.Find(m.Model); err != nil {
		return fmt.Errorf("model: %w; or name it with --model", err)
	}
	product, err := accelerator.Find(m.Device)
	m.Device = product.Name
	return err
}

// planOf is the plan that served what was measured; nil where no plans are given.
func (k *known) planOf(m *v1alpha1.Measurement) (*v1alpha1.ShardingPlan, error) {
	var found *v1alpha1.ShardingPlan
	for i := range k.plans {
		p := &k.plans[i]
		if m.Model != "" {
			if served, _, err := model.Find(m.Model); err != nil || served.Name != p.Spec.Model.Name {
				continue
			}
		}
		if m.Engine != "" && m.Engine != p.Spec.Engine {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("--plan: plans %s and %s are both of %s with %s: give the one that was measured", found.Name, p.Name, p.Spec.Model.Name, p.Spec.Engine)
		}
		found = p
	}
	if found == nil && len(k.plans) > 0 {
		return nil, fmt.Errorf("--plan: none of %d plans is of model %q with engine %q: give the one that was measured", len(k.plans), m.Model, m.Engine)
	}
	return found, nil
}

// from fills in what a plan says.
func (k *known) from(plan *v1alpha1.ShardingPlan, m *v1alpha1.Measurement) {
	s := &plan.Spec
	of := site.OfPlan(s, "")
	m.Model, m.Engine, m.Weights, m.KVCacheType, m.Replicas, m.Parallelism = of.Model, of.Engine, of.Weights, of.KVCacheType, of.Replicas, of.Parallelism
	for i := range s.Nodes {
		for _, id := range s.Nodes[i].Devices {
			if product := k.products[at(s.Nodes[i].Node, id)]; product != "" && m.Device == "" {
				m.Device = product
			}
		}
	}
}

// fromFlags fills in what flags say.
func (k *known) fromFlags(m *v1alpha1.Measurement) error {
	if k.device != "" {
		m.Device = k.device
	}
	if k.engine != "" {
		found, err := estimate.FindEngine(k.engine)
		if err != nil {
			return term.Usagef("%w", err)
		}
		m.Engine = found.Name
	}
	for _, p := range []struct {
		word string
		to   *v1alpha1.Precision
	}{{k.weights, &m.Weights}, {k.kv, &m.KVCacheType}} {
		if p.word == "" {
			continue
		}
		var err error
		if *p.to, err = estimate.FindPrecision(p.word); err != nil {
			return term.Usagef("%w", err)
		}
	}
	if m.Parallelism == nil {
		m.Parallelism = &v1alpha1.Parallelism{}
	}
	for _, d := range []struct {
		n  int
		to **int32
	}{{k.degrees.Tensor, &m.Parallelism.Tensor}, {k.degrees.Pipeline, &m.Parallelism.Pipeline}, {k.degrees.AttentionData, &m.Parallelism.Data}, {k.degrees.Expert, &m.Parallelism.Expert}} {
		if d.n > 0 {
			n := int32(d.n)
			*d.to = &n
		}
	}
	if m.Parallelism.Tensor == nil {
		one := int32(1)
		m.Parallelism.Tensor = &one
	}
	if k.replicas > 1 || m.Replicas == 0 {
		m.Replicas = k.replicas
	}
	return nil
}
