package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// What is planned can be scheduled: nodes offer nothing to pods that do not tolerate their taints, and the refusal counts their devices.
func TestPlansKeepOffTaintsThatPodsDoNotTolerate(t *testing.T) {
	tainted := plantest.Host("a", true, plantest.Times8(plantest.H100)...)
	tainted.Taints = []corev1.Taint{{Key: "team", Value: "chat", Effect: corev1.TaintEffectNoSchedule}}
	open := plantest.Host("b", true, plantest.Times8(plantest.H100)...)
	tolerant := func(s *plantest.Spec) {
		s.Devices = &v1alpha1.DeviceRequirements{Tolerations: []v1alpha1.Toleration{{Key: "team", Value: "chat"}}}
	}
	for name, c := range map[string]struct {
		nodes    []fleet.Node
		tolerant bool
		want     string
	}{
		"no taint where pods tolerate none":  {[]fleet.Node{tainted, open}, false, "b"},
		"a taint that pods tolerate":         {[]fleet.Node{tainted, open}, true, "a"},
		"nothing but what is not tolerated":  {[]fleet.Node{tainted}, false, ""},
		"nothing but what pods do tolerate":  {[]fleet.Node{tainted}, true, "a"},
		"no taint though pods tolerate some": {[]fleet.Node{open}, true, "b"},
	} {
		request := shape.Request{Placement: plantest.Placement(8192, 16), Model: plantest.Llama(t, 8)}
		if c.tolerant {
			tolerant(&request.Placement.Spec)
		}
		made, err := Within(t.Context(), fleet.NewCluster(c.nodes), request)
		if no := (*Unplaceable)(nil); c.want == "" && (!errors.As(err, &no) || !strings.Contains(no.Message, "8 on nodes with taints that devices.tolerations does not tolerate")) {
			t.Errorf("%s: %v", name, err)
		}
		if c.want != "" && (err != nil || !slices.Equal(made.NodeNames(), []string{c.want})) {
			t.Errorf("%s: plan %+v, %v; want it on %s", name, made, err, c.want)
		}
	}
}

// A taint that keeps new pods off a node leaves those that run there: a plan that replaces theirs may keep their devices.
func TestPlansStayOnNodesThatWereTainted(t *testing.T) {
	node := plantest.Host("a", true, plantest.Times8(plantest.H100)...)
	request := shape.Request{Placement: plantest.Placement(8192, 16), Model: plantest.Llama(t, 8)}
	before, err := Within(t.Context(), fleet.NewCluster([]fleet.Node{node}), request)
	if err != nil {
		t.Fatal(err)
	}
	node.Taints = []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}
	request.Previous = before
	if after, err := Within(t.Context(), fleet.NewCluster([]fleet.Node{node}), request); err != nil || !slices.Equal(after.NodeNames(), []string{"a"}) {
		t.Errorf("plan %+v, %v", after, err)
	}
}
