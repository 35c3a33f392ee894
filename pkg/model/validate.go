package model

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// MaxParameters bounds a model (2^47): above what the API lets a placement ask for, and small enough that every sum of
// bytes is far inside an int64.
const MaxParameters = 1 << 47

// FromArchitecture makes a model of an architecture, which it checks as the API server would. The error names the field,
// its value and the remedy.
func FromArchitecture(name string, a v1alpha1.Architecture) (*Model, error) {
	m := &Model{
		Name: name, Architecture: *a.DeepCopy(), Native: v1alpha1.BF16,
		Assumptions: []string{"the checkpoint is in BF16: an architecture does not say"},
	}
	return m.checked()
}

// checked returns the model where its architecture is possible.
func (m *Model) checked() (*Model, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	return m, nil
}

// validate holds the architecture to the bounds of the API and to MaxParameters.
func (m *Model) validate() error {
	a := &m.Architecture
	if err := architecture.check(reflect.ValueOf(a)); err != nil {
		return err
	}
	if a.Attention.MLA == nil && a.Attention.Heads%a.Attention.KVHeads != 0 {
		return fmt.Errorf("attention.heads is %d and attention.kvHeads %d: set kvHeads to a divisor of heads, or to heads where every head has keys and values of its own", a.Attention.Heads, a.Attention.KVHeads)
	}
	if w := a.Attention.Windowed; w != nil && w.Heads%w.KVHeads != 0 {
		return fmt.Errorf("attention.windowed.heads is %d and attention.windowed.kvHeads %d: set kvHeads to a divisor of heads", w.Heads, w.KVHeads)
	}
	if err := validateKinds(a); err != nil {
		return err
	}
	if a.Attention.MLA != nil && a.Attention.Compressed != nil {
		return errors.New("attention.mla and attention.compressed are both set: keep the one that the layers have")
	}
	if a.MoE != nil && a.MoE.ActiveExperts > a.MoE.Experts {
		return fmt.Errorf("moe.activeExperts is %d and moe.experts %d: a token cannot visit more experts than there are", a.MoE.ActiveExperts, a.MoE.Experts)
	}
	if dense := countLayers(a, func(layer int) bool { return !isMixture(a, layer) && !blockless(a, layer) }); a.MLP.IntermediateSize == 0 && dense > 0 {
		return fmt.Errorf("mlp.intermediateSize is 0 and %d of %d layers are dense: set it to the width of their feed-forward block", dense, a.Layers)
	}
	if n := m.Parameters(); n > MaxParameters {
		return fmt.Errorf("the architecture has %s parameters: set layers, hiddenSize and the widths so that there are at most %d", countText(n), int64(MaxParameters))
	}
	return nil
}

// validateKinds holds the letters of layers to what is described of them.
func validateKinds(a *v1alpha1.Architecture) error {
	for _, l := range []struct{ field, letters, known string }{{"mixers", a.Mixers, "FWRBX"}, {"blocks", a.Blocks, "DMX"}} {
		if i := strings.IndexFunc(l.letters, func(r rune) bool { return !strings.ContainsRune(l.known, r) }); i >= 0 || len(l.letters) > maxLayers {
			return fmt.Errorf("%s is %q: give at most %d of the letters %s", l.field, words.Echo(l.letters), maxLayers, l.known)
		}
	}
	switch {
	case a.Recurrent == nil && strings.ContainsAny(a.Mixers, "RB"):
		return errors.New("mixers has layers with a recurrent state (R, B) and recurrent is absent: describe it")
	case a.Recurrent != nil && !slices.Contains(recurrentKinds, a.Recurrent.Kind):
		return fmt.Errorf("recurrent.kind is %q: set it to GatedDelta, Lightning, Mamba, Mamba2, KimiDelta or ShortConv", words.Echo(string(a.Recurrent.Kind)))
	case a.MoE == nil && strings.ContainsRune(a.Blocks, mixtureBlock):
		return errors.New("blocks has mixtures of experts (M) and moe is absent: describe it")
	case a.Attention.SlidingWindow == 0 && strings.ContainsRune(a.Mixers, windowMixer):
		return errors.New("mixers has layers with a window (W) and attention.slidingWindow is 0: set it to the tokens that they look back")
	}
	return nil
}

func countText(n int64) string {
	if n == math.MaxInt64 {
		return "more than 2^63"
	}
	return fmt.Sprint(n)
}
