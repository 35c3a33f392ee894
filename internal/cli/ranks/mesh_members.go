package ranks

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// meshMember is a rank with its device.
type meshMember struct {
	Rank      int               `json:"rank"`
	Node      string            `json:"node"`
	LocalRank int               `json:"localRank"`
	Device    v1alpha1.DeviceID `json:"device"`
}

// meshGroupLink is what a kind of group exchanges over.
type meshGroupLink struct {
	Library      string `json:"library"`
	TorchBackend string `json:"torchBackend"`
	// Kind and MBps describe the slowest link between two ranks of a group, and Ranks are the two; absent where groups have one rank.
	Kind  string  `json:"kind,omitempty"`
	MBps  int64   `json:"mbps,omitempty"`
	Ranks []int32 `json:"ranks,omitempty"`
}

func (l meshGroupLink) text() string {
	if l.Kind == "" {
		return "-"
	}
	return fmt.Sprintf("%s (%d-%d)", mesh.Link{Kind: l.Kind, MBps: l.MBps}, l.Ranks[0], l.Ranks[1])
}

// zoneLabels are the topology levels that every cluster may have.
var zoneLabels = []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone}

// seat gives the ranks to the devices of inventories.
func (g *meshGroups) seat(streams term.Streams, files []string, engine string) error {
	read, err := planning.ReadManifests(files, streams)
	if err != nil {
		return err
	}
	if err := planning.Distinct(read); err != nil {
		return err
	}
	read.WarnOfIgnored(streams)
	hosts := planning.MeshHosts(read, read.Snapshot())
	for i := range read.Nodes {
		node := &read.Nodes[i]
		host, ok := hosts[node.Name]
		if !ok {
			continue
		}
		for _, label := range zoneLabels {
			host.Levels = append(host.Levels, node.Labels[label])
		}
		hosts[node.Name] = host
	}
	accelerators := slices.DeleteFunc(mesh.SeatsOf(hosts), func(s mesh.Seat) bool { return s.Family == v1alpha1.FamilyCPU })
	layout, err := mesh.LayOut(g.mesh, accelerators, hosts, g.closest()...)
	if err != nil {
		return term.Usagef("%w", err)
	}
	return g.describe(layout, hosts, v1alpha1.Engine(engine))
}

// closest are the dimensions whose groups talk most: tensor parallelism, where the order has it.
func (g *meshGroups) closest() []string {
	for _, d := range g.mesh.Dimensions() {
		if d.Name == "tp" {
			return []string{d.Name}
		}
	}
	return nil
}

// describe writes down members, libraries and links.
func (g *meshGroups) describe(layout *mesh.Layout, hosts mesh.Hosts, engine v1alpha1.Engine) error {
	seats := layout.Seats()
	hardware := make([]mesh.Hardware, len(seats))
	for rank, s := range seats {
		hardware[rank] = s.Hardware
		local, _, err := layout.LocalRank(rank)
		if err != nil {
			return err
		}
		g.Members = append(g.Members, meshMember{Rank: rank, Node: s.Node, LocalRank: local, Device: s.Device})
	}
	wires := mesh.NewWires(seats, hosts)
	g.Links = map[string]meshGroupLink{}
	library, err := mesh.CommonLibrary(hardware, engine)
	if err != nil {
		return err
	}
	for name, groups := range g.Groups {
		link := meshGroupLink{Library: library.Name, TorchBackend: library.TorchBackend}
		if slowest, ok := wires.Slowest(groups); ok {
			link.Kind, link.MBps, link.Ranks = slowest.Kind, slowest.MBps, []int32{slowest.A, slowest.B}
		}
		g.Links[name] = link
	}
	return nil
}
