package meshes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// Hosts reads what the cluster says of the nodes of a plan or a mesh, from their Nodes and inventories. A node that has
// neither is returned as gone, with nothing known of it.
func Hosts(ctx context.Context, reader client.Reader, nodes []string) (mesh.Hosts, error) {
	hosts := make(mesh.Hosts, len(nodes))
	for _, name := range nodes {
		node, inventory := &corev1.Node{}, &v1alpha1.AcceleratorInventory{}
		found, err := objects.Read(ctx, reader, client.ObjectKey{Name: name}, node)
		if err != nil {
			return nil, err
		}
		host := mesh.Host{Gone: !found, Address: fleet.FactsOf(node).Address, Annotations: node.Annotations}
		if found, err = objects.Read(ctx, reader, client.ObjectKey{Name: name}, inventory); err != nil {
			return nil, err
		} else if found {
			host.Inventory = &inventory.Status
		}
		hosts[name] = host
	}
	return hosts, nil
}

// Claimable returns how a ResourceClaim selects each device of some hosts that a DRA driver serves.
func Claimable(hosts mesh.Hosts) func(string, v1alpha1.DeviceID) (binding.Claimable, bool) {
	return func(node string, device v1alpha1.DeviceID) (binding.Claimable, bool) {
		d := hosts.Device(node, device)
		if d == nil || d.Service == nil || d.ClaimAttribute == nil {
			return binding.Claimable{}, false
		}
		return binding.Claimable{Driver: d.Service.Resource, Attribute: *d.ClaimAttribute}, true
	}
}
