package intel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// documentedMatrix is the example of xpu-smi's user guide.
const documentedMatrix = `
         GPU 0/0|GPU 0/1|GPU 1/0|GPU 1/1|CPU Affinity
GPU 0/0 |S      |MDF    |XL*    |XL16   |0-23,48-71
GPU 0/1 |MDF    |S      |XL16   |XL*    |0-23,48-71
GPU 1/0 |XL*    |XL16   |S      |MDF    |24-47,72-95
GPU 1/1 |XL16   |XL*    |MDF    |S      |24-47,72-95
`

func TestParseXeLanes(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want xeLanes
	}{
		"documented":         {documentedMatrix, xeLanes{{0, 1}: 32}},
		"without bars":       {strings.ReplaceAll(documentedMatrix, "|", " "), xeLanes{{0, 1}: 32}},
		"one direction less": {strings.Replace(documentedMatrix, "XL16", "XL4", 1), xeLanes{{0, 1}: 20}},
		"a row is missing":   {strings.Replace(documentedMatrix, "GPU 0/0 |S      |MDF    |XL*    |XL16   |0-23,48-71\n", "", 1), xeLanes{{0, 1}: 16}},
		"a cell is missing":  {strings.Replace(documentedMatrix, "GPU 0/0 |S      |MDF    |XL*    |XL16   |0-23,48-71\n", "GPU 0/0 |S|MDF\n", 1), xeLanes{{0, 1}: 16}},
		"PCIe only":          {"         GPU 0/0|GPU 1/0|CPU Affinity\nGPU 0/0 |S|SYS|0-1\nGPU 1/0 |SYS|S|2-3\n", xeLanes{}},
		"empty":              {"", xeLanes{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, parseXeLanes(test.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// maxCards adds Data Center GPU Max 1550 that xpu-smi numbers against the order of their addresses.
func (s tree) maxCards(count int) (addresses []string) {
	s.Helper()
	answer := "Device ID,PCI BDF Address,Memory Physical Size\n"
	for i := range count {
		address := fmt.Sprintf("0000:%02x:00.0", 0x10+i)
		folder := s.Function(fmt.Sprintf("pci0000:0%d/0000:0%d:01.0/%s", i, i, address), "i915", intelID("0bd5", "038000"))
		s.DRM(folder, fmt.Sprint("card", i), fmt.Sprint("renderD", 128+i))
		answer += fmt.Sprintf("%d,%q,\"131072.00 MiB\"\n", count-1-i, address)
		addresses = append(addresses, address)
	}
	s.xpu(answer, host.XPUDiscovery[1:]...)
	return addresses
}

// xeMatrix prints a topology of cards of one tile, with so many lanes between each two.
func xeMatrix(cards int, lanes func(a, b int) int) string {
	text := "        "
	for card := range cards {
		text += fmt.Sprintf("GPU %d/0|", card)
	}
	text += "CPU Affinity\n"
	for a := range cards {
		text += fmt.Sprintf("GPU %d/0 |", a)
		for b := range cards {
			switch n := lanes(min(a, b), max(a, b)); {
			case a == b:
				text += "S|"
			case n == 0:
				text += "SYS|"
			default:
				text += fmt.Sprintf("XL%d|", n)
			}
		}
		text += "0-47\n"
	}
	return text
}

func TestXeLinks(t *testing.T) {
	ids := []v1alpha1.DeviceID{"intel-0000:10:00.0", "intel-0000:11:00.0", "intel-0000:12:00.0", "intel-0000:13:00.0"}
	mesh := func(peer int64, members ...v1alpha1.DeviceID) v1alpha1.Links {
		return v1alpha1.Links{Domains: []v1alpha1.LinkDomain{{
			Name: "xelink-0000:10:00.0", Kind: "XeLink", Topology: v1alpha1.TopologyMesh, Members: members,
			PeerMBps: peer, DeviceMBps: peer * int64(len(members)-1),
		}}}
	}
	for name, test := range map[string]struct {
		cards int
		lanes func(a, b int) int
		want  v1alpha1.Links
	}{
		"four, all to all": {4, func(int, int) int { return 16 }, mesh(106_000, ids...)},
		"two":              {2, func(int, int) int { return 32 }, mesh(212_000, ids[:2]...)},
		"none":             {2, func(int, int) int { return 0 }, v1alpha1.Links{}},
		// The matrix numbers cards against their addresses: its 0-1 are the last two.
		"two of three": {3, func(a, b int) int { return map[[2]int]int{{0, 1}: 8}[[2]int{a, b}] }, v1alpha1.Links{Domains: []v1alpha1.LinkDomain{{
			Name: "xelink-0000:11:00.0", Kind: "XeLink", Topology: v1alpha1.TopologyMesh, Members: ids[1:3], PeerMBps: 53_000, DeviceMBps: 53_000,
		}}}},
		// As on two boards.
		"two and two": {4, func(a, b int) int { return map[[2]int]int{{0, 1}: 16, {2, 3}: 16}[[2]int{a, b}] }, v1alpha1.Links{Domains: append(
			mesh(106_000, ids[:2]...).Domains, v1alpha1.LinkDomain{
				Name: "xelink-0000:12:00.0", Kind: "XeLink", Topology: v1alpha1.TopologyMesh, Members: ids[2:], PeerMBps: 106_000, DeviceMBps: 106_000,
			})}},
		"uneven": {3, func(a, b int) int { return 4 * (a + b) }, v1alpha1.Links{Pairs: []v1alpha1.LinkPair{
			{A: ids[0], B: ids[1], Kind: "XeLink", Count: 3, MBps: 79_500},
			{A: ids[0], B: ids[2], Kind: "XeLink", Count: 2, MBps: 53_000},
			{A: ids[1], B: ids[2], Kind: "XeLink", Count: 1, MBps: 26_500},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.maxCards(test.cards)
			s.xpu(xeMatrix(test.cards, test.lanes), "topology", "-m")
			found := s.Detect(GPU())
			if diff := cmp.Diff(test.want, found.Links); diff != "" || found.Degraded != "" {
				t.Errorf("degraded %q: %s", found.Degraded, diff)
			}
		})
	}
}

func TestXeLinksWithoutTheTool(t *testing.T) {
	s := newTree(t)
	addresses := s.maxCards(2)
	found := s.Detect(GPU())
	if len(found.Devices) != len(addresses) || found.Links.Domains != nil || !strings.Contains(found.Degraded, "install xpu-smi") {
		t.Errorf("got %d devices, links %+v, degraded %q", len(found.Devices), found.Links, found.Degraded)
	}
	if slices.ContainsFunc(found.Devices, func(d v1alpha1.Device) bool { return d.Memory.TotalMiB != 131072 }) {
		t.Error("a card counts both of its tiles")
	}
}

func FuzzXPUDiscovery(f *testing.F) {
	f.Add(discovery)
	f.Add("Device ID,PCI BDF Address\n0,\"0000:4d:00.0\"\n")
	f.Add("PCI BDF Address,Memory Physical Size\n0000:4d:00.0,\"1e400 MiB\"\n0000:4e:00.0,NaN MiB")
	f.Fuzz(func(t *testing.T, text string) {
		devices, err := parseXPUDiscovery([]byte(text))
		if err != nil && devices != nil {
			t.Errorf("%v, and devices", err)
		}
		for address, device := range devices {
			if !pci.IsAddress(address) || device.memoryMiB < 0 || device.memoryMiB > backend.MaxMemoryMiB {
				t.Errorf("%s: %+v", address, device)
			}
		}
	})
}

func FuzzXeLanes(f *testing.F) {
	f.Add(documentedMatrix)
	f.Add("GPU 0/0|GPU 1/0\nGPU 0/0|S|XL999\nGPU 1/0|XL999|S\n")
	f.Fuzz(func(t *testing.T, text string) {
		for pair, lanes := range parseXeLanes(text) {
			if pair[0] < 0 || pair[0] >= pair[1] || lanes < 1 {
				t.Errorf("%v: %d lanes", pair, lanes)
			}
		}
	})
}
