package model

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestLayersOfARunAreCountedAlike holds that runs cover the layers in order, that neighbours are of other forms, and that
// layers of one form take the same bytes in weights and in cache, however they are shared out.
func TestLayersOfARunAreCountedAlike(t *testing.T) {
	type bytes struct{ weights, shared, cache, parameters int64 }
	most := 0
	for _, name := range Names() {
		m := mustLookup(t, name)
		for _, p := range []v1alpha1.Precision{v1alpha1.BF16, v1alpha1.FP8, m.Native} {
			forms, next, last := map[int]bytes{}, 0, -1
			for _, run := range m.LayerRuns(p) {
				if run.First != next || run.End <= run.First || run.Form == last || run.Form > len(forms) {
					t.Fatalf("%s in %s: run %+v after layer %d of form %d", name, p, run, next, last)
				}
				for layer := run.First; layer < run.End; layer++ {
					got := bytes{
						m.LayerWeightBytes(layer, p), m.LayerWeightBytesPerRank(layer, 4, p),
						m.LayerKVBytesPerRank(layer, 100000, 2, p), m.layerParameters(layer),
					}
					if want, ok := forms[run.Form]; ok && got != want {
						t.Fatalf("%s in %s: layer %d of form %d takes %+v, others %+v", name, p, layer, run.Form, got, want)
					}
					forms[run.Form] = got
				}
				next, last = run.End, run.Form
			}
			if next != int(m.Architecture.Layers) {
				t.Errorf("%s in %s: runs end at layer %d of %d", name, p, next, m.Architecture.Layers)
			}
			most = max(most, len(forms))
		}
	}
	if most < 3 {
		t.Errorf("no model has more than %d forms of layers", most)
	}
}
