package engine

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestExpertDegreesByEngine(t *testing.T) {
	for _, test := range []struct {
		engine               v1alpha1.Engine
		expert, tensor, data int
		want                 bool
	}{
		{v1alpha1.EngineVLLM, 4, 2, 2, true},
		{v1alpha1.EngineVLLM, 2, 2, 2, false},
		{v1alpha1.EngineSGLang, 2, 4, 1, true},
		{v1alpha1.EngineSGLang, 4, 2, 2, true},
		{v1alpha1.EngineSGLang, 8, 2, 2, false},
		{v1alpha1.EngineTensorRTLLM, 4, 4, 1, true},
		{v1alpha1.EngineMegatron, 2, 1, 4, true},
		{v1alpha1.EngineMegatron, 2, 2, 1, false},
		{v1alpha1.EngineDeepSpeed, 4, 1, 4, true},
		{v1alpha1.EngineTorch, 4, 2, 2, true},
		{v1alpha1.EngineTorch, 3, 2, 2, false},
	} {
		e, err := Find(test.engine)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Ranks.Experts.Fit(test.expert, test.tensor, test.data, 1); got != test.want {
			t.Errorf("%s: %d experts at tensor %d and data %d: got %t", test.engine, test.expert, test.tensor, test.data, got)
		}
	}
}
