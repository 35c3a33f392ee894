package planning

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/sizing"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/estimate"
	"github.com/rankwright/rankwright/pkg/model"
)

// askFlags are a placement in flags: what simulate, plan and recommend take instead of a file.
type askFlags struct {
	model                string
	replicas             int32
	length               int32
	sequences, total     int32
	quantization, engine string

	// further flags, which simulate has not
	input, output int32
	lengths       sizing.LengthsFlag
	variation     *int32 // of lengths
	longest       int32  // of lengths, where --max-model-len is not given
	objective     string
	ttft, tpot    time.Duration
	serving       sizing.ServingFlags
}

// usualLength is the longest sequence in tokens where none is given.
const usualLength = 8192

// add adds the flags of one model.
func (a *askFlags) add(command *cobra.Command, instead string) {
	command.Flags().StringVar(&a.model, "model", "", "model to place by catalogue name, hub id, number of parameters (70B) or config.json"+instead)
	_ = command.RegisterFlagCompletionFunc("model", cobra.FixedCompletions(model.Names(), cobra.ShellCompDirectiveDefault))
	command.Flags().Int32Var(&a.replicas, "replicas", 1, "copies of --model; with --total-sequences the planner chooses how many where it is left out")
	command.Flags().Int32Var(&a.total, "total-sequences", 0, "sequences of --model at a time in all copies together, instead of --max-sequences")
	a.addSize(command, 16)
}

// addSize adds the flags of what a copy must hold, and of how it is run.
func (a *askFlags) addSize(command *cobra.Command, sequences int32) {
	a.replicas = max(1, a.replicas)
	f := command.Flags()
	f.Int32Var(&a.length, "max-model-len", usualLength, "longest sequence in tokens")
	f.Int32Var(&a.sequences, "max-sequences", sequences, "sequences at a time in each copy")
	f.StringVar(&a.quantization, "quantization", string(v1alpha1.QuantizationAuto), "number format of the weights")
	f.StringVar(&a.engine, "engine", string(engine.Default), "engine that runs the model")
	term.Complete(command, "engine", engine.Names())
	term.Complete(command, "quantization", append([]v1alpha1.Precision{v1alpha1.Precision(v1alpha1.QuantizationAuto)}, estimate.Precisions...))
}

// addLoad adds the flags of the requests and of what is wanted of a plan.
func (a *askFlags) addLoad(command *cobra.Command) {
	f := command.Flags()
	f.Int32Var(&a.input, "isl", 0, "input tokens of a request in the mean (0: half of --max-model-len)")
	f.Int32Var(&a.output, "osl", 0, "output tokens of a request in the mean (0: half of --max-model-len)")
	f.StringVar(&a.objective, "objective", string(v1alpha1.ObjectiveThroughput), "what to prefer: the shortest answers, most tokens of a device, or the cheapest tokens")
	f.DurationVar(&a.ttft, "max-ttft", 0, "longest time to the first token (0: no limit)")
	f.DurationVar(&a.tpot, "max-tpot", 0, "longest time per output token (0: no limit)")
	term.Complete(command, "objective", objectives)
	a.serving.Add(command)
}

var objectives = []v1alpha1.Objective{v1alpha1.ObjectiveLatency, v1alpha1.ObjectiveThroughput, v1alpha1.ObjectiveCost}

// askNames are the flags that say something of --model, and mean nothing without it.
var askNames = []string{
	"replicas", "max-model-len", "max-sequences", "total-sequences", "quantization", "engine", "isl", "osl", "lengths", "objective", "max-ttft", "max-tpot", sizing.ServingFlag,
}

// alone refuses the flags of a model that is not named.
func (a *askFlags) alone(changed func(string) bool) error {
	if flag := firstAsked(changed); flag != "" {
		return term.Usagef("--%s is of --model: give the model, or write it into the placement's file", flag)
	}
	return nil
}

// without refuses flags that mean nothing without another one.
func (a *askFlags) without(other string, changed func(string) bool) error {
	if flag := firstAsked(changed); flag != "" {
		return term.Usagef("--%s without --%s: add that", flag, other)
	}
	return nil
}

// firstAsked is the first flag about a model that is given; nothing where none is.
func firstAsked(changed func(string) bool) string {
	for _, flag := range askNames {
		if changed(flag) {
			return flag
		}
	}
	return ""
}

// manifests are the placement that the flags ask for, with its model.
func (a *askFlags) manifests(streams term.Streams, changed func(string) bool) (*Manifests, error) {
	m, err := sizing.FindModel(a.model, streams)
	if err != nil {
		return nil, err
	}
	if err := a.measure(streams, m, changed); err != nil {
		return nil, err
	}
	placement, err := a.placement(m, changed)
	if err != nil {
		return nil, err
	}
	return &Manifests{Placements: []v1alpha1.ModelPlacement{*placement}, model: m, anonymous: true}, nil
}

// measure takes the lengths of requests from what --lengths names. The longest sequence is at least that of a trace where nothing else is said.
func (a *askFlags) measure(streams term.Streams, m *model.Model, changed func(string) bool) error {
	of, err := a.lengths.Lengths(streams)
	if err != nil || of == nil {
		return err
	}
	variation := int32(of.Variation)
	a.variation = &variation
	if of.Input > 0 {
		a.input, a.output = int32(of.Input), int32(of.Output)
	}
	if changed("max-model-len") && of.Longest > int64(a.length) {
		return term.Usagef("--max-model-len %d: the longest request of --lengths has %d tokens: give at least that", a.length, of.Longest)
	}
	a.longest = max(a.usualLength(m), int32(of.Longest))
	return nil
}

func (a *askFlags) placement(m *model.Model, changed func(string) bool) (*v1alpha1.ModelPlacement, error) {
	load, err := a.load(m, changed)
	if err != nil {
		return nil, err
	}
	runs, err := estimate.FindEngine(a.engine)
	if err != nil {
		return nil, term.Usagef("%w", err)
	}
	p := &v1alpha1.ModelPlacement{}
	p.Name = objectName(a.model)
	p.Spec = v1alpha1.ModelPlacementSpec{
		Model: sourceOf(a.model, m), Replicas: &a.replicas, Engine: runs.Name, Workload: v1alpha1.Workload{Inference: load},
	}
	if p.Spec.Quantization, err = a.format(); err != nil {
		return nil, err
	}
	if load.TotalSequences > 0 && !changed("replicas") {
		p.Spec.Replicas = nil
	}
	return p, nil
}

// format is the number format of the weights, in any case.
func (a *askFlags) format() (v1alpha1.Quantization, error) {
	if strings.EqualFold(a.quantization, string(v1alpha1.QuantizationAuto)) {
		return v1alpha1.QuantizationAuto, nil
	}
	found, err := estimate.FindPrecision(a.quantization)
	if err != nil {
		return "", term.Usagef("--quantization: %w, or %s", err, v1alpha1.QuantizationAuto)
	}
	return v1alpha1.Quantization(found), nil
}

// objectiveOf is an objective in any case.
func (a *askFlags) objectiveOf() (v1alpha1.Objective, error) {
	for _, o := range objectives {
		if strings.EqualFold(a.objective, string(o)) {
			return o, nil
		}
	}
	if a.objective == "" { // of a command without the flag
		return v1alpha1.ObjectiveThroughput, nil
	}
	return "", term.Usagef("--objective %s: use one of %s", a.objective, term.Joined(objectives, ", "))
}

// sourceOf is how a placement names a model: by its number of parameters, by its name, or for what only a file describes by its
// architecture.
func sourceOf(name string, m *model.Model) v1alpha1.ModelSource {
	switch n, counted := model.ParseParameters(name); {
	case counted:
		return v1alpha1.ModelSource{Parameters: &n}
	case model.Known(name):
		return v1alpha1.ModelSource{Name: &name}
	}
	if named, _, err := model.Find(name); err == nil && named.Name == m.Name {
		return v1alpha1.ModelSource{Name: &m.Name}
	}
	return v1alpha1.ModelSource{Architecture: &m.Architecture}
}

func (a *askFlags) load(m *model.Model, changed func(string) bool) (*v1alpha1.InferenceWorkload, error) {
	for _, number := range []struct {
		flag         string
		value, least int32
	}{{"replicas", a.replicas, 1}, {"max-model-len", a.length, 1}, {"max-sequences", a.sequences, 1}, {"isl", a.input, 0}, {"osl", a.output, 0}} {
		if number.value < number.least {
			return nil, term.Usagef("--%s %d: give at least %d", number.flag, number.value, number.least)
		}
	}
	load := &v1alpha1.InferenceWorkload{MaxModelLen: a.length, MaxSequences: a.sequences}
	if !changed("max-model-len") {
		load.MaxModelLen = cmp.Or(a.longest, a.usualLength(m))
	}
	load.LengthVariationPercent = a.variation
	load.InputTokens, load.OutputTokens = given(a.input), given(a.output)
	var err error
	if load.Serving, err = a.serving.Options(); err != nil {
		return nil, err
	}
	if load.Objective, err = a.objectiveOf(); err != nil {
		return nil, err
	}
	if load.MaxTTFTMillis, err = milliseconds("max-ttft", a.ttft); err != nil {
		return nil, err
	}
	if load.MaxTPOTMillis, err = milliseconds("max-tpot", a.tpot); err != nil {
		return nil, err
	}
	if changed("total-sequences") {
		if a.total < 1 || changed("max-sequences") {
			return nil, term.Usagef("--total-sequences %d: give at least 1, and no --max-sequences", a.total)
		}
		load.MaxSequences, load.TotalSequences = 0, a.total
	}
	return load, nil
}

// given is a number of tokens that is not 0; nil elsewhere.
func given(tokens int32) *int32 {
	if tokens == 0 {
		return nil
	}
	return &tokens
}

// usualLength is the usual longest sequence, longer where the requests are, and no longer than the model reads. Of prompt and
// answer what is not given is half of it.
func (a *askFlags) usualLength(m *model.Model) int32 {
	needed := int64(a.input) + int64(a.output)
	length := max(usualLength, needed)
	if a.input == 0 || a.output == 0 {
		length = max(usualLength, 2*needed)
	}
	if most := int64(m.Architecture.MaxContext); most > 0 && needed <= most {
		length = min(length, most)
	}
	return int32(min(length, 1<<30))
}

// milliseconds is a limit as the API has it; nil where there is none.
func milliseconds(flag string, limit time.Duration) (*int32, error) {
	if limit == 0 {
		return nil, nil
	}
	ms := limit.Milliseconds()
	if ms < 1 || ms > 1<<30 || limit%time.Millisecond != 0 {
		return nil, term.Usagef("--%s %v: give whole milliseconds from 1ms on, or 0 for no limit", flag, limit)
	}
	whole := int32(ms)
	return &whole, nil
}

// objectName makes the name of an object out of the name of a model: `Llama-3.1-8B` becomes llama-3.1-8b.
func objectName(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".json"), "/config")
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.':
			return r
		default:
			return '-'
		}
	}, strings.ToLower(name[strings.LastIndex(name, "/")+1:]))
	return cmp.Or(strings.Trim(name, "-."), "model")
}

// askedIn says what was asked for in words: 16 sequences at once in a copy, of at most 8192 tokens.
func askedIn(load *v1alpha1.InferenceWorkload) string {
	at := words.Counted(load.MaxSequences, "sequence") + " at once in a copy"
	if load.TotalSequences > 0 {
		at = words.Counted(load.TotalSequences, "sequence") + " at once in all copies"
	}
	return fmt.Sprintf("%s, of at most %d tokens", at, load.MaxModelLen)
}
