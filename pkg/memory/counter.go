package memory

import (
	"cmp"

	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/model"
)

// Counter counts the memory of a model under a load in any layout and on any device. It does not change and may be
// shared. Its footprints share what depends on neither layout nor device.
type Counter struct {
	setup     Setup // without a layout, and with the limits of a step that were asked for
	engine    *engine.Memory
	jobs      *engine.Jobs
	constants constants
	runs      []model.LayerRun
	forms     []form
	rest      *model.Model // without routed experts
	cached    *model.Model // with the layers that keep all tokens
	norm      int64
	draft     *Counter // of what drafts tokens; nil where nothing is loaded for it
	// expertAdapters says that room for adapters is made in routed experts too.
	expertAdapters bool
	// loadsWhole says that all weights are loaded in the checkpoint's format before they are made ones of the setup's.
	loadsWhole bool
}

// graphs returns what recorded launches take of what the engine may take; 0 in training.
func (c *Counter) graphs() int64 {
	if c.setup.Training != nil {
		return 0
	}
	return c.engine.Graphs
}

// form is layers whose memory is equal.
type form struct {
	layer   int   // the first of them
	experts int64 // the routed experts of each as the checkpoint stores them
}

// NewCounter prepares to count a setup in layouts other than its own, which is ignored. The error for fields that
// contradict each other or are out of range names the field, its value and what to set.
func NewCounter(s Setup) (*Counter, error) {
	constants, err := fitted()
	if err != nil {
		return nil, err
	}
	return newCounter(s, constants)
}

func newCounter(s Setup, constants constants) (*Counter, error) {
	if err := s.normal(); err != nil {
		return nil, err
	}
	of, err := engine.Find(s.Engine)
	if err != nil {
		return nil, err
	}
	c := &Counter{
		setup: s, engine: of.MemoryIn(s.EngineVersion), jobs: &of.Jobs, constants: constants,
		runs: s.Model.LayerRuns(s.Weights), rest: withoutExperts(s.Model), norm: bounded(s.Model.FinalNormBytes(s.Weights)),
	}
	c.cached = keepingWhole(s.Model, c.engine.Whole)
	c.expertAdapters = of.Serves.ExpertAdapters
	c.loadsWhole = s.Inference != nil && of.Memory.LoadsWhole && Made(of, s.Model, s.Weights)
	if c.draft, err = draftCounter(&s, constants); err != nil {
		return nil, err
	}
	w := c.weights(&s)
	for _, run := range c.runs {
		if run.Form == len(c.forms) {
			c.forms = append(c.forms, form{run.First, w.stored(run.First)})
		}
	}
	return c, nil
}

// Footprint counts the setup in a layout. In inference tokens and sequences are the limits of a step; 0 takes the
// setup's. The device is used as in New.
func (c *Counter) Footprint(l Layout, tokens, sequences int64, d Device) (*Footprint, error) {
	if d != (Device{}) {
		if err := d.Check(); err != nil {
			return nil, err
		}
	}
	s := c.setup
	if err := l.normal(&s); err != nil {
		return nil, err
	}
	s.Layout = l
	f := &Footprint{counter: c, setup: s, layers: int(s.Model.Architecture.Layers), norm: c.norm, engine: bounded(c.constants.OutsideBytes + c.graphs())}
	if s.Training != nil {
		f.train()
	} else {
		f.inference = *s.Inference
		if err := f.batch(cmp.Or(tokens, f.inference.BatchedTokens), cmp.Or(sequences, f.inference.BatchedSequences), d); err != nil {
			return nil, err
		}
		f.beside = besideStatic(d, f.inference.Utilization)
	}
	f.count()
	if err := f.countDraft(); err != nil {
		return nil, err
	}
	f.prepare()
	return f, nil
}
