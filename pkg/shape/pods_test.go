package shape

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// On nodes of 8 devices a pipeline of data ranks that share islands ends where a node does, in an engine that numbers stages before
// data ranks.
func TestStagesThatPodsCanStart(t *testing.T) {
	each := func(n int32) *v1alpha1.Launch { return &v1alpha1.Launch{DevicesPerPod: &n} }
	for name, c := range map[string]struct {
		engine v1alpha1.Engine
		degree Degrees
		host   int
		asked  Asked
		launch *v1alpha1.Launch
		want   int
	}{
		"vLLM over two nodes":       {engine: "vLLM", degree: Degrees{Tensor: 2, Data: 4, Context: 1, Inside: 4}, host: 8, want: 1},
		"vLLM on one node":          {engine: "vLLM", degree: Degrees{Tensor: 1, Data: 2, Context: 1, Inside: 2}, host: 8, want: 4},
		"a data rank on each node":  {engine: "vLLM", degree: Degrees{Tensor: 4, Data: 2, Context: 1, Inside: 2}, host: 4, want: 9},
		"without data ranks":        {engine: "vLLM", degree: Degrees{Tensor: 4, Data: 1, Context: 1, Inside: 1}, host: 8, want: 9},
		"data ranks anywhere":       {engine: "vLLM", degree: Degrees{Tensor: 2, Data: 4, Context: 1, Inside: 1}, host: 8, want: 9},
		"both degrees asked for":    {engine: "vLLM", degree: Degrees{Tensor: 2, Data: 4, Context: 1, Inside: 4}, host: 8, asked: Asked{Data: 4, Stages: 2}, want: 9},
		"pods of a data rank each":  {engine: "vLLM", degree: Degrees{Tensor: 2, Data: 4, Context: 1, Inside: 4}, host: 8, launch: each(2), want: 9},
		"pods of two data ranks":    {engine: "vLLM", degree: Degrees{Tensor: 2, Data: 4, Context: 1, Inside: 4}, host: 8, launch: each(4), want: 1},
		"SGLang, data before stage": {engine: "SGLang", degree: Degrees{Tensor: 2, Data: 4, Context: 1, Inside: 4}, host: 8, want: 9},
	} {
		e, err := engine.Find(c.engine)
		if err != nil {
			t.Fatal(err)
		}
		p := &Problem{Engine: e, Asked: c.asked, Spec: &v1alpha1.ModelPlacementSpec{Launch: c.launch}}
		if got := p.mostStages(&c.degree, &Flavor{Limit: c.host}, 9); got != c.want {
			t.Errorf("%s: %d stages, want %d", name, got, c.want)
		}
	}
}
