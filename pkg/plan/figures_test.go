package plan

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

func TestClassesShareFootprintsThatAreTheSame(t *testing.T) {
	cluster := fleet.NewCluster([]fleet.Node{host("a", true, h100, h200, l40s, t4, a100, mi300x)})
	shared := 0
	for _, engine := range []v1alpha1.Engine{v1alpha1.EngineVLLM, v1alpha1.EngineSGLang, v1alpha1.EngineTensorRTLLM} {
		task, err := newTask(cluster, Request{Placement: placement(8192, 4, engineOf(engine)), Model: llama(t, 8)})
		if err != nil {
			t.Fatal(err)
		}
		for _, way := range task.tries() {
			a := task.attempt(task.ladder[0], way)
			for class := range int32(len(cluster.Classes())) {
				s := shape{tensor: 2, stages: 1, data: 1, expert: 1, context: 1, decode: 1}
				own, got := a.newFootprint(class, s), a.footprint(class, s)
				if class > 0 && got == a.footprint(class-1, s) {
					shared++
				}
				if own.bytes(0, own.layers) != got.bytes(0, got.layers) || own.bytes(3, 9) != got.bytes(3, 9) || own.least != got.least {
					t.Errorf("%s on %s: %d bytes shared, %d of its own", engine, cluster.Class(class).Product, got.bytes(0, got.layers), own.bytes(0, own.layers))
				}
			}
		}
	}
	if shared == 0 {
		t.Error("no classes share footprints")
	}
}
