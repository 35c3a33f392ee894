package aws

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// neuronGraph is which nodes are linked to which, by their numbers; every link is in it from both ends.
type neuronGraph map[int][]int

// neuronLinks joins the chips to the rings and tori that NeuronLink connects them to. Where a domain's chips cannot be
// told from the others, or their links make no shape that is known, that is told, but for the chains of Inferentia, whose
// rate nobody documents.
func neuronLinks(files host.Files, chips []*neuronChip, nodes []*neuronNode, reports map[string]neuronReport) (v1alpha1.Links, error) {
	graph := newNeuronGraph(nodes, reports)
	var links v1alpha1.Links
	var unknown []error
	for _, component := range backend.Components(graph) {
		topology, shape, ok := graph.shape(component)
		members := neuronMembers(chips, nodes, component)
		switch {
		case !ok && members != nil && members[0].generation.name == "Inferentia":
		case !ok:
			unknown = append(unknown, fmt.Errorf("%d chips are linked in a shape that is not known: their NeuronLinks are left out", len(component)))
		case members == nil:
			unknown = append(unknown, fmt.Errorf("%d chips are linked, and neuron-ls alone tells which", len(component)))
		default:
			domain := neuronDomain(members, topology, shape, int64(len(graph[component[0]])))
			domain.Fabric = readUltraServer(files)
			links.Domains = append(links.Domains, domain)
		}
	}
	return links, errors.Join(unknown...)
}

// newNeuronGraph takes what the driver says, or neuron-ls where it says nothing. A link counts where both its ends name it:
// in a container that has some of the chips, numbers may be counted anew and those of neighbours not.
func newNeuronGraph(nodes []*neuronNode, reports map[string]neuronReport) neuronGraph {
	ends := map[int][]int{}
	for _, node := range nodes {
		if len(node.connected) > 0 {
			ends[node.number] = node.connected
		}
	}
	if len(ends) == 0 {
		for _, report := range reports {
			ends[report.number] = report.connected
		}
	}
	graph := neuronGraph{}
	for a, others := range ends {
		for _, b := range others {
			if a != b && slices.Contains(ends[b], a) {
				graph[a] = append(graph[a], b)
			}
		}
	}
	for number := range graph {
		slices.Sort(graph[number])
		graph[number] = slices.Compact(graph[number])
	}
	return graph
}

// shape tells rings, and the torus of 4 by 4 that every instance of 16 Trainium chips is.
func (g neuronGraph) shape(component []int) (topology v1alpha1.DomainTopology, shape []int32, ok bool) {
	degree := len(g[component[0]])
	for _, number := range component {
		if len(g[number]) != degree {
			return "", nil, false
		}
	}
	switch {
	case degree == 2 || degree == 1:
		return v1alpha1.TopologyRing, nil, true
	case degree == 4 && len(component) == 16:
		return v1alpha1.TopologyTorus, []int32{4, 4}, true
	default:
		return "", nil, false
	}
}

// neuronMembers are the chips of a component: by their nodes, or all of the host where the component is all its nodes;
// nil where neither is known.
func neuronMembers(chips []*neuronChip, nodes []*neuronNode, component []int) []*neuronChip {
	if len(component) == len(chips) && len(nodes) == len(chips) {
		return chips
	}
	var members []*neuronChip
	for _, chip := range chips {
		if chip.node != nil && slices.Contains(component, chip.node.number) {
			members = append(members, chip)
		}
	}
	if len(members) != len(component) {
		return nil
	}
	return members
}

// neuronDomain has the chips' cores as members: a link is shared by the cores of a chip. A chip's rate is the sum of its
// links in one direction, as the catalogue has it.
func neuronDomain(chips []*neuronChip, topology v1alpha1.DomainTopology, shape []int32, neighbours int64) v1alpha1.LinkDomain {
	first := chips[0]
	domain := v1alpha1.LinkDomain{Name: "neuronlink-" + first.Address, Kind: "NeuronLink", Topology: topology, Shape: shape}
	if cores := first.parts(); cores > 1 && shape != nil {
		domain.Shape = append(domain.Shape, int32(cores))
	}
	domain.PeerMBps = first.product.LinkMBps / max(first.generation.links, 1) / int64(first.parts())
	domain.DeviceMBps = domain.PeerMBps * neighbours
	for _, chip := range chips {
		domain.Members = append(domain.Members, chip.ids...)
	}
	slices.Sort(domain.Members)
	return domain
}

// readUltraServer returns the server of several instances that this one is a part of; nil where it is none, or where its
// instances are still finding each other. The driver has an id for four instances and one for two.
func readUltraServer(files host.Files) *v1alpha1.Fabric {
	for _, name := range []string{"server_id_4", "server_id_2"} {
		id, _, err := host.ReadText(files, path.Join(neuronClass, name))
		if err == nil && len(id) == 16 && strings.Trim(id, "0123456789abcdef") == "" && strings.Trim(id, "0") != "" {
			return &v1alpha1.Fabric{ClusterUUID: id}
		}
	}
	return nil
}
