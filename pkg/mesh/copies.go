package mesh

import (
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// Copy is a copy of the model in a DeviceMesh.
type Copy struct {
	*Layout
	// Replica is the number of the copy, from 0.
	Replica int32
	// Shape is the shape of the mesh that the copy has in common with others.
	Shape *v1alpha1.MeshShape

	engine v1alpha1.Engine
}

// Copies returns the copies of a DeviceMesh with the devices on their ranks. What the hosts do not say of a device is not known.
// It refuses a mesh whose members leave a rank without a device or do not fit its dimensions; the operator makes none such.
func Copies(spec *v1alpha1.DeviceMeshSpec, hosts Hosts) ([]Copy, error) {
	shapes := spec.Shapes()
	if err := checkMembers(spec, shapes); err != nil {
		return nil, err
	}
	var copies []Copy
	for i := range shapes {
		m, err := ofShape(spec.Order, &shapes[i])
		if err != nil {
			return nil, fmt.Errorf("shape %d: %w", i, err)
		}
		for n := range shapes[i].Replicas {
			copies = append(copies, Copy{Layout: &Layout{Mesh: m, seats: make([]Seat, m.world)}, Replica: shapes[i].FirstReplica + n, Shape: &shapes[i], engine: spec.Engine})
		}
	}
	for i := range spec.Members {
		if err := seatMember(copies, &spec.Members[i], hosts); err != nil {
			return nil, fmt.Errorf("members[%d]: %w", i, err)
		}
	}
	for i := range copies {
		made, err := NewLayout(copies[i].Mesh, copies[i].seats)
		if err != nil {
			return nil, fmt.Errorf("copy %d: %w", i, err)
		}
		copies[i].Layout = made
	}
	return copies, nil
}

// checkMembers refuses another number of devices than of ranks, so that what is made for a mesh is not larger than the mesh.
func checkMembers(spec *v1alpha1.DeviceMeshSpec, shapes []v1alpha1.MeshShape) error {
	var ranks, devices int64
	for i := range shapes {
		ranks += int64(max(0, shapes[i].Replicas)) * int64(max(0, shapes[i].WorldSize))
	}
	for i := range spec.Members {
		devices += int64(len(spec.Members[i].Devices))
	}
	if ranks == 0 || ranks != devices {
		return fmt.Errorf("replicas and worldSize make %s, and members have %s: every rank needs exactly one", words.Counted(ranks, "rank"), words.Counted(devices, "device"))
	}
	return nil
}

// seatMember puts a member's devices on their ranks.
func seatMember(copies []Copy, member *v1alpha1.MeshMember, hosts Hosts) error {
	if member.Replica < 0 || int(member.Replica) >= len(copies) {
		return fmt.Errorf("replica is %d: the mesh has copies 0 to %d", member.Replica, len(copies)-1)
	}
	l := copies[member.Replica].Layout
	for i, id := range member.Devices {
		rank := int(member.FirstRank) + i
		if err := l.checkRank(rank); err != nil {
			return err
		}
		l.seats[rank] = hosts.seat(member.Node, id)
	}
	return nil
}

// ofShape is the mesh of a shape of a DeviceMesh. It refuses sizes whose product is not the shape's world size.
func ofShape(order string, shape *v1alpha1.MeshShape) (*Mesh, error) {
	sizes := make(map[string]int, len(shape.Dimensions))
	for _, d := range shape.Dimensions {
		sizes[d.Name] = int(d.Size)
	}
	return ForWorld(int(shape.WorldSize), order, sizes)
}

// Library is the communication library of the copy's devices; there is none where the DeviceMesh names none that is known. It
// is looked up by the vendor as well, since libraries of different makers have one name.
func (c *Copy) Library() (Library, bool) {
	return libraryNamed(c.Shape.Library, c.seats[0].Vendor)
}

// RanksOf lists the ranks of a copy's groups of a kind, whether the DeviceMesh lists them or gives no more than their rule.
// It refuses kinds that the shape does not have.
func (c *Copy) RanksOf(kind string) ([][]int32, error) {
	at := slices.IndexFunc(c.Shape.Groups, func(g v1alpha1.ProcessGroups) bool { return g.Name == kind })
	if at < 0 {
		return nil, fmt.Errorf("copy %d has no groups %q", c.Replica, kind)
	}
	return groupsOf(c.Mesh, c.engine, &c.Shape.Groups[at])
}

// groupsOf lists the groups of a kind.
func groupsOf(m *Mesh, engine v1alpha1.Engine, g *v1alpha1.ProcessGroups) ([][]int32, error) {
	if len(g.Ranks) == 0 {
		groups, _, err := m.ruled(engine, g.Name, int(g.Size), g.Dimensions)
		return groups, err
	}
	listed := make([][]int32, len(g.Ranks))
	for i, ranks := range g.Ranks {
		listed[i] = ranks
	}
	return listed, nil
}
