package plan

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// ask is a request for inference with a context and a number of sequences; changes alter it.
func ask(m *model.Model, length, sequences int32, changes ...func(*v1alpha1.ModelPlacementSpec)) shape.Request {
	return shape.Request{Placement: plantest.Placement(length, sequences, changes...), Model: m}
}

func mustPlan(t testing.TB, c *fleet.Cluster, r shape.Request) *v1alpha1.ShardingPlanSpec {
	t.Helper()
	spec, err := Plan(c, r)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// published returns a model with all checkpoints of it that the catalogue has.
func published(t *testing.T, name string) *model.Model {
	t.Helper()
	m, err := model.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
