package shape

import (
	"reflect"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// Edit is a change of a request.
type Edit func(*v1alpha1.ModelPlacementSpec)

// With returns the problem of the changed request on the same cluster; nil where the changed request is invalid.
func (t *Problem) With(change Edit) *Problem {
	placement := *t.request.Placement
	placement.Spec = *placement.Spec.DeepCopy()
	change(&placement.Spec)
	request := t.request
	request.Placement = &placement
	other, err := New(t.Cluster, request)
	if err != nil {
		return nil
	}
	if other.choosesAs(t) {
		other.ground = t.ground
	}
	return other
}

// On returns the problem on another cluster; nil where the request is invalid there.
func (t *Problem) On(c *fleet.Cluster) *Problem {
	other, err := New(c, t.request)
	if err != nil {
		return nil
	}
	return other
}

// choosesAs says whether two problems on one cluster choose from the same devices, of which they may use as much.
func (t *Problem) choosesAs(other *Problem) bool {
	a, b := t.Spec, other.Spec
	return reflect.DeepEqual(a.Devices, b.Devices) && reflect.DeepEqual(a.Topology, b.Topology) && a.Enforcement == b.Enforcement &&
		t.Engine == other.Engine && t.served.permille == other.served.permille && (t.Workload.Training == nil) == (other.Workload.Training == nil) &&
		(t.Asked.Tensor > 0) == (other.Asked.Tensor > 0)
}

// InCopies returns the edit that asks for so many copies. Data ranks of a dense model are copies, so their degree is left out.
func (t *Problem) InCopies(n int) Edit {
	dense := t.Model.Architecture.MoE == nil && t.Workload.Training == nil && t.Engine.Parallelism.Instances
	return func(s *v1alpha1.ModelPlacementSpec) {
		copies := int32(n)
		s.Replicas = &copies
		if dense && s.Parallelism != nil {
			s.Parallelism.Data = nil
		}
	}
}

// WithoutLimits is the edit that takes away limits of time.
func WithoutLimits(s *v1alpha1.ModelPlacementSpec) {
	s.Workload.Inference.MaxTTFTMillis, s.Workload.Inference.MaxTPOTMillis = nil, nil
}
