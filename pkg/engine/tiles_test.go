package engine

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestTile: vLLM reads prompts and decodes in one launch of FlashAttention 2 where version 3 does not run, which is on Hopper; other engines decode apart.
func TestTile(t *testing.T) {
	for _, test := range []struct {
		engine       v1alpha1.Engine
		architecture string
		want         int
	}{
		{v1alpha1.EngineVLLM, "Ampere", 64},
		{v1alpha1.EngineVLLM, "Ada", 64},
		{v1alpha1.EngineVLLM, "Hopper", 0},
		{v1alpha1.EngineVLLM, "Blackwell GDDR", 0},
		{v1alpha1.EngineVLLM, "CDNA3", 0},
		{v1alpha1.EngineSGLang, "Ampere", 0},
		{v1alpha1.EngineTensorRTLLM, "Ampere", 0},
	} {
		e, err := Find(test.engine)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Tile(test.architecture); got != test.want {
			t.Errorf("%s on %s: tiles of %d rows, want %d", test.engine, test.architecture, got, test.want)
		}
	}
}
