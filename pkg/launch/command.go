package launch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// command writes what an engine is told, under the names of its table: options and variables into an environment, keys of a file
// in their order. What the table does not have becomes an option without a name, which the check of the whole command refuses.
type command struct {
	of *engine.Engine
	*Environment
	keys []Variable
}

// tell tells a value, whose purpose the engine has an argument for.
func (w *command) tell(p engine.Purpose, value any) {
	argument := w.of.Arguments.For(p)
	switch {
	case argument == nil:
		w.add("")
	case argument.Takes == engine.Switch:
		w.add(argument.Name)
	case strings.HasPrefix(argument.Name, "--"):
		w.add(argument.Name, value)
	case argument.Name == strings.ToUpper(argument.Name):
		w.set(argument.Name, value)
	default:
		w.keys = append(w.keys, Variable{argument.Name, fmt.Sprint(value)})
	}
}

// degree tells a degree where it is above 1.
func (w *command) degree(p engine.Purpose, value int32) {
	if value > 1 {
		w.tell(p, value)
	}
}

// balance has the engine balance the experts of many ranks, as the plan's times count them.
func (w *command) balance(s *v1alpha1.Strategy) {
	if s.Expert > engine.UnbalancedExpertRanks {
		w.tell(engine.ForBalance, nil)
	}
}

// format tells the engine's word for a format of numbers.
func (w *command) format(p engine.Purpose, of v1alpha1.Precision) {
	w.tell(p, w.of.Arguments.Word(p, of))
}

// serving tells what every serving engine is told of a copy. The limits of a step hold for so many data ranks together.
func (w *command) serving(c *Copy, together int32) {
	w.checkpoint(c)
	if c.model.Revision != "" {
		w.tell(engine.ForRevision, c.model.Revision)
	}
	if w.of.MakesWhileLoading(c.model.StoredIn, c.quantization) {
		w.format(engine.ForQuantization, c.quantization)
	}
	if computed := c.sixteenBits(); computed != "" {
		w.format(engine.ForType, computed)
	}
	w.format(engine.ForCache, c.KVCacheType)
	w.memory(c)
	if l := c.Limits; l != nil {
		if l.Length > 0 {
			w.tell(engine.ForLength, l.Length)
		}
		w.tell(engine.ForSequences, l.Sequences*int64(together))
		w.tell(engine.ForTokens, l.Tokens*int64(together))
	}
	w.options(c)
}

// split tells the layers of each stage of a pipeline.
func (w *command) split(c *Copy) {
	if c.Strategy.Pipeline > 1 {
		w.tell(engine.ForSplit, numbers(c.Split))
	}
}

// sixteenBits is the format of activations: that of the cache, since an engine stores there what it computes; empty where it is not
// known. A cache in FP8 leaves it to what products and weights say.
func (c *Copy) sixteenBits() v1alpha1.Precision {
	for _, p := range []v1alpha1.Precision{c.KVCacheType, c.computed, c.quantization} {
		if p == v1alpha1.BF16 || p == v1alpha1.FP16 {
			return p
		}
	}
	return ""
}

// yaml returns the keys as a configuration file, checked by the table. Keys with a common first part follow one another.
func (w *command) yaml() (string, error) {
	var b strings.Builder
	within := ""
	for _, k := range w.keys {
		if err := w.of.Arguments.CheckSetting(k.Name, k.Value); err != nil {
			return "", err
		}
		value := k.Value
		switch w.of.Arguments.Kind(k.Name) {
		case engine.List, engine.WordList:
			value = "[" + strings.ReplaceAll(value, ",", ", ") + "]"
		case engine.Text:
			value = strconv.Quote(value)
		}
		outer, name, nested := strings.Cut(k.Name, ".")
		switch {
		case !nested:
			within, name = "", outer
		case within != outer:
			within, name = outer, outer+":\n  "+name
		default:
			name = "  " + name
		}
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	return b.String(), nil
}

// check holds what the pods of a bundle are started with to the table of an engine.
func (b *Bundle) check(of *engine.Engine) error {
	for i := range b.Pods {
		e, err := b.OfPod(i)
		if err == nil {
			err = e.check(of)
		}
		if err != nil {
			return fmt.Errorf("pod %d: %w", i, err)
		}
	}
	return nil
}

func (e *Environment) check(of *engine.Engine) error {
	for _, v := range e.Variables {
		if of.Arguments.Has(v.Name) {
			if err := of.Arguments.CheckSetting(v.Name, v.Value); err != nil {
				return err
			}
		}
	}
	return of.Arguments.CheckCommand(e.Arguments)
}
