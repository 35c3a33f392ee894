package nvidia

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/machine"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

const nvLink = "NVLink"

// nvLinkNode is a GPU in the search for links.
type nvLinkNode struct {
	gpu *nvidiaGPU
	// asked says whether the driver has told of the GPU's links.
	asked bool
	nvLinkFacts
	// peers is the number of links to each other GPU that may have links, by address.
	peers map[string]int
}

// nvidiaLinks finds what the GPUs are connected by. GPUs in MIG mode have no links.
func nvidiaLinks(h *host.Host, gpus []nvidiaGPU) v1alpha1.Links {
	nodes := map[string]*nvLinkNode{}
	for i := range gpus {
		gpu := &gpus[i]
		if gpu.migOn() || gpu.Driver != nvidiaDriver {
			continue
		}
		node := &nvLinkNode{gpu: gpu, peers: map[string]int{}}
		if gpu.facts != nil && gpu.facts.links != nil {
			node.asked, node.nvLinkFacts = true, *gpu.facts.links
		}
		nodes[gpu.Address] = node
	}
	switches := nvSwitches(h)
	for _, node := range nodes {
		node.connect(nodes, switches)
	}
	var links v1alpha1.Links
	switched := nvSwitchGroups(nodes, len(switches) > 0 || hasNVSwitchDriver(h.Files))
	for _, key := range slices.SortedFunc(maps.Keys(switched), fabricKey.compare) {
		if domain, ok := switchDomain(key, switched[key]); ok {
			links.Domains = append(links.Domains, domain)
		}
		for _, node := range switched[key] {
			delete(nodes, node.gpu.Address)
		}
	}
	direct := directLinks(nodes)
	links.Domains = append(links.Domains, direct.Domains...)
	links.Pairs = direct.Pairs
	links.Unread = unreadNVLinks(gpus, links)
	return links
}

// connect finds the other ends of the GPU's links. A link between two GPUs counts where both show it: one that an end has
// lost does not.
func (n *nvLinkNode) connect(nodes map[string]*nvLinkNode, switches map[string]bool) {
	for address, count := range n.remotes {
		peer := nodes[address]
		switch {
		case switches[address]:
			n.toSwitch = true
		case peer == nil || peer == n:
		case peer.asked:
			if count = min(count, peer.remotes[n.gpu.Address]); count > 0 {
				n.peers[address] = count
			}
		default:
			n.peers[address], peer.peers[n.gpu.Address] = count, count
		}
	}
}

var nvSwitchName = regexp.MustCompile(`^(?:nvidia-)?nvswitch\d+$`)

// nvSwitches are the addresses of the host's NVSwitches: bridges of class 0680.
func nvSwitches(h *host.Host) map[string]bool {
	functions, _ := pci.Functions(h) // what could not be read is told already
	addresses := map[string]bool{}
	for _, function := range functions {
		if function.VendorID == nvidiaVendor && strings.HasPrefix(function.Class, "0680") {
			addresses[function.Address] = true
		}
	}
	return addresses
}

// hasNVSwitchDriver says whether the host shows an NVSwitch by its driver's device.
func hasNVSwitchDriver(files host.Files) bool {
	names, _ := host.ReadNames(files, "/sys/devices/virtual/nvidia-nvswitch")
	return slices.ContainsFunc(names, nvSwitchName.MatchString)
}

// fabricKey tells switch domains apart; zero is the one that the host's own switches make.
type fabricKey struct{ cluster, clique string }

func (k fabricKey) compare(other fabricKey) int {
	if c := strings.Compare(k.cluster, other.cluster); c != 0 {
		return c
	}
	return strings.Compare(k.clique, other.clique)
}

// nvSwitchGroups groups the GPUs that reach each other through switches. The evidence is, in this order: the fabric
// manager has completed the GPU's fabric; the driver has told of a link to a switch; the host has switches and the GPU
// has links to others, or where that could not be asked is a product that is made for them; the GPU has more links to
// its peers than it has active. The number of links between two GPUs is none.
func nvSwitchGroups(nodes map[string]*nvLinkNode, switches bool) map[fabricKey][]*nvLinkNode {
	groups := map[fabricKey][]*nvLinkNode{}
	for _, address := range slices.Sorted(maps.Keys(nodes)) {
		node := nodes[address]
		switch {
		case node.fabric() != nil:
			key := *node.fabric()
			groups[key] = append(groups[key], node)
		case node.toSwitch, switches && (len(node.peers) > 0 || !node.asked && node.gpu.product.Switched()),
			node.oversubscribed():
			groups[fabricKey{}] = append(groups[fabricKey{}], node)
		}
	}
	return groups
}

// fabric is the GPU's place in a completed fabric; nil where it has none. A fabric that stays in the host has neither
// cluster nor, in its only partition, a clique but 0.
func (n *nvLinkNode) fabric() *fabricKey {
	if n.gpu.facts == nil || n.gpu.facts.Fabric == nil || n.gpu.facts.Fabric.State != report.FabricCompleted {
		return nil
	}
	key := fabricKey{cluster: n.gpu.facts.Fabric.ClusterUUID}
	if clique := n.gpu.facts.Fabric.Clique; clique != nil {
		key.clique = strconv.FormatInt(*clique, 10)
	}
	if strings.Trim(key.cluster, "0-") == "" {
		key.cluster = ""
		if key.clique == "0" {
			key.clique = ""
		}
	}
	return &key
}

// oversubscribed says whether the matrix gives the GPU more links than it has: then they lead to a switch.
func (n *nvLinkNode) oversubscribed() bool {
	total := 0
	for _, count := range n.peers {
		total += count
	}
	return n.active > 0 && total > n.active
}

// switchDomain makes a domain of GPUs behind switches, with the oldest generation, the fewest links and the lowest rate of them; of the
// first two, 0 where one GPU does not tell. One GPU alone is a domain only where its fabric goes on elsewhere.
func switchDomain(key fabricKey, nodes []*nvLinkNode) (v1alpha1.LinkDomain, bool) {
	if len(nodes) < 2 && key.cluster == "" {
		return v1alpha1.LinkDomain{}, false
	}
	domain := v1alpha1.LinkDomain{
		Name: "nvlink", Kind: nvLink, Topology: v1alpha1.TopologySwitch,
		Generation: nodes[0].gpu.product.LinkGeneration, Links: int32(nodes[0].active),
	}
	for _, node := range nodes {
		domain.Members = append(domain.Members, node.gpu.id())
		domain.Generation = min(domain.Generation, node.gpu.product.LinkGeneration)
		domain.Links = min(domain.Links, int32(node.active))
		domain.DeviceMBps = machine.Least(domain.DeviceMBps, node.rate())
	}
	domain.PeerMBps = domain.DeviceMBps
	slices.Sort(domain.Members)
	if key.clique != "" {
		domain.Name += "-" + key.clique
	}
	if key.cluster != "" {
		domain.Name += "-" + key.cluster
		domain.Fabric = &v1alpha1.Fabric{ClusterUUID: host.Clip(key.cluster, 128), CliqueID: host.Clip(key.clique, 64)}
	}
	return domain, true
}

// rate is what the GPU sends over all its links: the product's, or less where fewer links are active. The driver tells
// line rates, some per cent above what the product is sold for.
func (n *nvLinkNode) rate() int64 {
	var nominal int64
	if n.gpu.product.LinkKind == nvLink {
		nominal = n.gpu.product.LinkMBps
	}
	if n.active > 0 && n.active < n.total {
		nominal = nominal * int64(n.active) / int64(n.total)
	}
	return machine.Least(nominal, n.mbps)
}

// directLinks lists what is connected without switches. Three and more GPUs of which each reaches each other by the
// same number of links are a mesh; everything else is pairs.
func directLinks(nodes map[string]*nvLinkNode) v1alpha1.Links {
	var pairs []v1alpha1.LinkPair
	for _, address := range slices.Sorted(maps.Keys(nodes)) {
		node := nodes[address]
		for _, peer := range slices.Sorted(maps.Keys(node.peers)) {
			other, count := nodes[peer], node.peers[peer]
			if other != nil && peer > address {
				pairs = append(pairs, v1alpha1.LinkPair{
					A: node.gpu.id(), B: other.gpu.id(), Kind: nvLink, Generation: min(node.gpu.product.LinkGeneration, other.gpu.product.LinkGeneration),
					Count: int32(count), MBps: int64(count) * node.linkRate(),
				})
			}
		}
	}
	links := backend.MeshesOrPairs("nvlink", 3, pairs)
	for i := range links.Domains {
		for _, pair := range pairs {
			if pair.A == links.Domains[i].Members[0] { // which each other has as many links as
				links.Domains[i].Links += pair.Count
			}
		}
	}
	return links
}

// linkRate is the rate of one link, at most the product's as in domains; 0 where nothing tells it.
func (n *nvLinkNode) linkRate() int64 {
	if n.active == 0 || n.mbps == 0 {
		return 0
	}
	return n.rate() / int64(n.active)
}

// unreadNVLinks are the GPUs that are in no link, whose product may have NVLinks, and of whose links the driver has not
// told. NVSwitches of newer generations are on no PCI bus of the host, and a bridge between two cards is on none. A GPU that
// is alone has nothing to be linked to.
func unreadNVLinks(gpus []nvidiaGPU, links v1alpha1.Links) []v1alpha1.DeviceID {
	linked := map[v1alpha1.DeviceID]bool{}
	for _, domain := range links.Domains {
		for _, id := range domain.Members {
			linked[id] = true
		}
	}
	for _, pair := range links.Pairs {
		linked[pair.A], linked[pair.B] = true, true
	}
	whole := 0
	var unread []v1alpha1.DeviceID
	for i := range gpus {
		gpu := &gpus[i]
		if gpu.migOn() {
			continue
		}
		whole++
		asked := gpu.facts != nil && gpu.facts.links != nil
		without := gpu.known && gpu.product.LinkKind != nvLink
		if !asked && !without && !linked[gpu.id()] {
			unread = append(unread, gpu.id())
		}
	}
	if whole < 2 {
		return nil
	}
	return unread
}
