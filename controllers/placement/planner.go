package placement

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Planner makes a plan, or says why there is none by *plan.Unplaceable or *plan.InvalidRequest. It must be pure: equal
// arguments give equal answers, and answers are remembered.
type Planner func(*fleet.Cluster, shape.Request) (*v1alpha1.ShardingPlanSpec, error)

// Mesher gives the devices of a plan their ranks. The hosts are what is known of its nodes.
type Mesher func(planName string, plan *v1alpha1.ShardingPlanSpec, hosts mesh.Hosts) (*v1alpha1.DeviceMeshSpec, error)

// DefaultPlanner is plan.Plan. Its type is written out so that the signature is checked here.
var DefaultPlanner Planner = plan.Plan

// DefaultMesher is mesh.FromPlan. Its type is written out so that the signature is checked here.
var DefaultMesher Mesher = mesh.FromPlan
