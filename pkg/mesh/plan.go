package mesh

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// maxMemberDevices bounds the list of devices of a member in a DeviceMesh.
const maxMemberDevices = 1024

// FromPlan numbers the devices of a plan in the order of its engine and lists their process groups: world, tp, pp, dp,
// and cp and ep where they are above 1. Every copy has ranks of its own from 0, in the sizes and groups of its shape. The
// communication library follows from what the hosts say of the devices; for the devices of a node that is not known, from the vendor
// that their ids name. It refuses a plan that leaves a rank of a copy without a device, gives a rank or a device twice, mixes
// vendors in a shape, names a place outside of the degrees of its shape, or whose shapes do not follow one another.
func FromPlan(planName string, plan *v1alpha1.ShardingPlanSpec, hosts Hosts) (*v1alpha1.DeviceMeshSpec, error) {
	spec, err := fromPlan(plan, hosts)
	if err != nil {
		return nil, fmt.Errorf("mesh of plan %s: %w", planName, err)
	}
	spec.Placement, spec.Plan, spec.Engine = plan.Placement, planName, plan.Engine
	return spec, nil
}

func fromPlan(plan *v1alpha1.ShardingPlanSpec, hosts Hosts) (*v1alpha1.DeviceMeshSpec, error) {
	batches, err := batchesOf(plan)
	if err != nil {
		return nil, err
	}
	copies, err := seatsOf(batches, plan.Nodes)
	if err != nil {
		return nil, err
	}
	shapes := make([]v1alpha1.MeshShape, len(batches))
	for i, b := range batches {
		library, err := libraryOf(copies[b.FirstReplica:b.FirstReplica+b.Strategy.Replicas], plan.Engine, hosts)
		if err != nil {
			return nil, err
		}
		if shapes[i], err = b.describe(plan.Engine, library); err != nil {
			return nil, fmt.Errorf("%s: %w", b.field, err)
		}
	}
	main := shapes[0]
	spec := &v1alpha1.DeviceMeshSpec{
		Order:      batches[0].mesh.Order(),
		Dimensions: main.Dimensions,
		Shape:      shapeText(shapes),
		WorldSize:  main.WorldSize,
		Replicas:   int32(len(copies)),
		Library:    main.Library,
		Members:    membersOf(copies, hosts),
		Groups:     main.Groups,
	}
	if len(shapes) > 1 {
		spec.OtherShapes = shapes[1:]
	}
	return spec, nil
}

// membersOf joins consecutive ranks of a copy on one node.
func membersOf(copies []replica, hosts Hosts) []v1alpha1.MeshMember {
	var members []v1alpha1.MeshMember
	for number := range copies {
		seats := copies[number].seats
		for rank, s := range seats {
			if rank > 0 && seats[rank-1].node == s.node && len(members[len(members)-1].Devices) < maxMemberDevices {
				last := &members[len(members)-1]
				last.Devices = append(last.Devices, s.device)
				continue
			}
			members = append(members, v1alpha1.MeshMember{
				Node: s.node, Address: hosts[s.node].Address, Replica: int32(number), FirstRank: int32(rank), Devices: []v1alpha1.DeviceID{s.device},
			})
		}
	}
	return members
}
