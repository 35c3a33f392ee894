package shape

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/test/plantest"
)

func TestClassesShareFootprintsThatAreTheSame(t *testing.T) {
	cluster := fleet.NewCluster([]fleet.Node{plantest.Host("a", true, plantest.H100, plantest.H200, plantest.L40s, plantest.T4, plantest.A100, plantest.Mi300x)})
	shared := 0
	for _, engine := range []v1alpha1.Engine{v1alpha1.EngineVLLM, v1alpha1.EngineSGLang, v1alpha1.EngineTensorRTLLM} {
		problem, err := New(cluster, Request{Placement: plantest.Placement(8192, 4, plantest.EngineOf(engine)), Model: plantest.Llama(t, 8)})
		if err != nil {
			t.Fatal(err)
		}
		for _, way := range problem.Variants() {
			a := problem.Tier(Setting{problem.Ladder[0], way})
			for class := range int32(len(cluster.Classes())) {
				s := Shape{Tensor: 2, Stages: 1, Data: 1, Expert: 1, Context: 1, Decode: 1}
				own, got := a.newFootprint(class, s), a.Footprint(class, s)
				if class > 0 && got == a.Footprint(class-1, s) {
					shared++
				}
				if own.Bytes(0, own.Layers) != got.Bytes(0, got.Layers) || own.Bytes(3, 9) != got.Bytes(3, 9) || own.least != got.least {
					t.Errorf("%s on %s: %d bytes shared, %d of its own", engine, cluster.Class(class).Product, got.Bytes(0, got.Layers), own.Bytes(0, own.Layers))
				}
			}
		}
	}
	if shared == 0 {
		t.Error("no classes share footprints")
	}
}
