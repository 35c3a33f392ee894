package mesh

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// board is a host of eight devices on two processors with four each, PCIe 4.0 x16, and ports of so many Gbps.
func board(vendor string, devices int, gbps int32) *v1alpha1.AcceleratorInventoryStatus {
	status := &v1alpha1.AcceleratorInventoryStatus{}
	for i, id := range ids(vendor, slices.Collect(upTo(devices))...) {
		numa := int32(i / 4)
		status.Devices = append(status.Devices, v1alpha1.Device{
			ID: id, Vendor: vendor, Family: v1alpha1.FamilyGPU, Backend: vendor, NUMANode: &numa,
			PCI: &v1alpha1.PCIDevice{Address: fmt.Sprintf("0000:%02x:00.0", i), Root: fmt.Sprintf("pci0000:%02x", i), LinkMTps: 16000, LinkWidth: 16},
		})
	}
	if gbps > 0 {
		status.NICs = []v1alpha1.NIC{{Name: "ib0", Kind: v1alpha1.NICInfiniBand, Up: true, Gbps: gbps * int32(devices)}}
	}
	return status
}

func upTo(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// switched joins all devices of a board by NVLink, and several boards to one fabric where it is named.
func switched(status *v1alpha1.AcceleratorInventoryStatus, fabric string) *v1alpha1.AcceleratorInventoryStatus {
	d := v1alpha1.LinkDomain{Name: "nvlink0", Kind: "NVLink", Topology: v1alpha1.TopologySwitch, DeviceMBps: 450_000}
	for i := range status.Devices {
		d.Members = append(d.Members, status.Devices[i].ID)
	}
	if fabric != "" {
		d.Fabric = &v1alpha1.Fabric{ClusterUUID: fabric}
	}
	status.Links.Domains = append(status.Links.Domains, d)
	return status
}

// bridged joins two devices of a board.
func bridged(status *v1alpha1.AcceleratorInventoryStatus, a, b int) *v1alpha1.AcceleratorInventoryStatus {
	status.Links.Pairs = append(status.Links.Pairs, v1alpha1.LinkPair{A: status.Devices[a].ID, B: status.Devices[b].ID, Kind: "NVLink", Count: 12, MBps: 300_000})
	return status
}

func TestLinksBetweenDevices(t *testing.T) {
	mesh4 := &v1alpha1.LinkDomain{Name: "hive", Kind: "XGMI", Topology: v1alpha1.TopologyMesh, PeerMBps: 64_000, DeviceMBps: 448_000}
	hive := board("amd", 4, 400)
	for i := range hive.Devices {
		mesh4.Members = append(mesh4.Members, hive.Devices[i].ID)
	}
	hive.Links.Domains = []v1alpha1.LinkDomain{*mesh4}
	hosts := Hosts{
		"dgx": {Inventory: switched(board("nvidia", 8, 400), "")}, "pcie": {Inventory: bridged(board("nvidia", 8, 100), 1, 5)},
		"hive": {Inventory: hive}, "rack1": {Inventory: switched(board("nvidia", 4, 400), "rack")}, "rack2": {Inventory: switched(board("nvidia", 4, 400), "rack")},
		"bare": {Inventory: board("nvidia", 2, 0)},
	}
	seats := SeatsOf(hosts)
	seats = append(seats, Seat{Node: "unknown", Device: "nvidia-x"}, Seat{Node: "unknown", Device: "nvidia-y"})
	w := NewWires(seats, hosts)
	at := func(node string, i int) int32 {
		return int32(slices.IndexFunc(seats, func(s Seat) bool { return s.Node == node })) + int32(i)
	}
	for want, pair := range map[string][2]int32{
		"NVLink 450 GB/s":   {at("dgx", 0), at("dgx", 7)},
		"PCIe NODE 32 GB/s": {at("pcie", 0), at("pcie", 1)},
		"PCIe SYS 32 GB/s":  {at("pcie", 0), at("pcie", 4)},
		"NVLink 300 GB/s":   {at("pcie", 5), at("pcie", 1)},
		"XGMI 64 GB/s":      {at("hive", 0), at("hive", 1)},
		"network 12 GB/s":   {at("dgx", 0), at("pcie", 0)},
		"network 50 GB/s":   {at("dgx", 0), at("hive", 0)},
		"network":           {at("dgx", 0), at("bare", 0)},
		"PCIe":              {at("unknown", 0), at("unknown", 1)},
	} {
		if got := w.between(pair[0], pair[1]).String(); got != want {
			t.Errorf("%v: got %s, want %s", pair, got, want)
		}
	}
	for _, pair := range [][2]int32{{at("rack1", 0), at("rack2", 3)}, {at("rack2", 3), at("rack1", 0)}} {
		if got := w.between(pair[0], pair[1]).String(); got != "NVLink 450 GB/s" {
			t.Errorf("a fabric goes over nodes: got %s", got)
		}
	}
	if got := w.between(3, 3).Kind; got != "same device" {
		t.Errorf("got %s", got)
	}
}

// site is a random cluster with what is known of it.
func drawHosts(t *rapid.T) Hosts {
	hosts := Hosts{}
	for i := range rapid.IntRange(1, 4).Draw(t, "hosts") {
		status := board("nvidia", rapid.IntRange(1, 8).Draw(t, "devices"), rapid.SampledFrom([]int32{0, 100, 400}).Draw(t, "gbps"))
		switch rapid.IntRange(0, 4).Draw(t, "links") {
		case 0:
			switched(status, "")
		case 1:
			switched(status, rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "fabric"))
			status.Links.Domains[0].DeviceMBps = rapid.SampledFrom([]int64{450_000, 900_000, 0}).Draw(t, "rate")
		case 2:
			if n := len(status.Devices); n > 1 {
				bridged(status, 0, n-1)
			}
		case 3:
			status.Devices[0].PCI = nil
		}
		hosts[fmt.Sprint("n", i)] = Host{Inventory: status, Levels: []string{rapid.SampledFrom([]string{"z1", "z2", ""}).Draw(t, "zone")}}
	}
	return hosts
}

// The slowest link of groups is the one that looking at every pair finds.
func TestSlowestAgreesWithAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t)
		seats := rapid.Permutation(SeatsOf(hosts)).Draw(t, "seats")
		size := rapid.IntRange(1, len(seats)).Draw(t, "size")
		var groups [][]int32
		for first := 0; first+size <= len(seats); first += size {
			groups = append(groups, sequence(int32(first), int32(size), 1))
		}
		w := NewWires(seats, hosts)
		var all search
		for _, group := range groups {
			for i, a := range group {
				for _, b := range group[:i] {
					all.see(w.between(a, b), a, b)
				}
			}
		}
		want, some := all.result()
		got, found := w.Slowest(groups)
		if some != found || got.Kind != want.Kind && got.reach != want.reach || got.MBps != want.MBps {
			t.Fatalf("got %v of %d and %d (%t), want %v of %d and %d (%t)", got.Link, got.A, got.B, found, want.Link, want.A, want.B, some)
		}
		if found && (got.A >= got.B || w.between(got.A, got.B) != got.Link) {
			t.Fatalf("ranks %d and %d have %v, not %v", got.A, got.B, w.between(got.A, got.B), got.Link)
		}
	})
}

func TestArrangeByHand(t *testing.T) {
	id := func(numbers ...int) string { return fmt.Sprint(ids("nvidia", numbers...)) }
	order := func(seats []Seat) string {
		var list []v1alpha1.DeviceID
		for _, s := range seats {
			list = append(list, s.Device)
		}
		return fmt.Sprint(list)
	}
	// Bridged pairs are neighbours, then devices of one processor.
	paired := Hosts{"a": {Inventory: bridged(bridged(board("nvidia", 8, 100), 0, 5), 1, 4)}}
	got, err := arrange(SeatsOf(paired), paired, 2)
	if err != nil || order(got) != id(0, 5, 1, 4, 2, 3, 6, 7) {
		t.Errorf("pairs: got %v, %v", order(got), err)
	}
	// A device without a bridge breaks no pair.
	paired = Hosts{"a": {Inventory: bridged(bridged(board("nvidia", 6, 100), 1, 2), 3, 4)}}
	got, err = arrange(SeatsOf(paired), paired, 2)
	if err != nil || order(got) != id(1, 2, 3, 4, 0, 5) {
		t.Errorf("a single device: got %v, %v", order(got), err)
	}
	// Six and two: a block of four lies on one node, and the rest follows.
	uneven := Hosts{"a": {Inventory: board("nvidia", 6, 100)}, "b": {Inventory: board("nvidia", 2, 100)}}
	got, err = arrange(SeatsOf(uneven), uneven, 4)
	if err != nil || order(got) != id(0, 1, 2, 3, 4, 5, 0, 1) {
		t.Errorf("six and two: got %v, %v", order(got), err)
	}
	// Racks before names of nodes.
	racks := Hosts{}
	for node, rack := range map[string]string{"a": "2", "b": "1", "c": "2", "d": "1"} {
		racks[node] = Host{Inventory: board("nvidia", 1, 100), Levels: []string{"zone", rack}}
	}
	got, err = arrange(SeatsOf(racks), racks, 1)
	var nodes []string
	for _, s := range got {
		nodes = append(nodes, s.Node)
	}
	if err != nil || fmt.Sprint(nodes) != "[b d a c]" {
		t.Errorf("racks: got %v, %v", nodes, err)
	}
	_, err = arrange(nil, nil, 0)
	wantError(t, err, "blocks of 0 ranks")
	if got, err := arrange(nil, nil, 2); err != nil || len(got) != 0 {
		t.Errorf("no devices: got %v, %v", got, err)
	}
}

// As many tensor groups as can be lie on one node and in one link domain; every device is there once; and the order in
// which devices are listed does not matter.
func TestArrangeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t)
		seats := SeatsOf(hosts)
		tensor := rapid.IntRange(1, 8).Draw(t, "tensor")
		got, err := arrange(rapid.Permutation(seats).Draw(t, "listed"), hosts, tensor)
		again, err2 := arrange(seats, hosts, tensor)
		if err != nil || err2 != nil || !slices.Equal(got, again) {
			t.Fatalf("%v, %v: %v and %v", err, err2, got, again)
		}
		perNode, inside := map[string]int{}, 0
		for _, s := range seats {
			perNode[s.Node]++
		}
		seen := map[Seat]bool{}
		for i, s := range got {
			seen[s] = true
			if i%tensor == tensor-1 && !slices.ContainsFunc(got[i-tensor+1:i], func(o Seat) bool { return o.Node != s.Node }) {
				inside++
			}
		}
		most := 0
		for _, n := range perNode {
			most += n / tensor
		}
		if len(seen) != len(seats) || len(got) != len(seats) {
			t.Fatalf("%d of %d devices", len(seen), len(seats))
		}
		if inside < most {
			t.Fatalf("%d groups of %d lie on one node, and %d could: %v", inside, tensor, most, got)
		}
	})
}
