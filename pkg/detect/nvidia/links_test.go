package nvidia_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/detect/nvidia"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// routes compares what reaches what, and how fast; the recorded hosts show generations and counts.
var routes = cmp.Options{
	cmpopts.IgnoreFields(v1alpha1.LinkDomain{}, "Generation", "Links"), cmpopts.IgnoreFields(v1alpha1.LinkPair{}, "Generation"),
}

// linkedGPU is a GPU in a test of links.
type linkedGPU struct {
	ids      string
	links    []string // rates of nvlink -s, or <inactive>
	row      string   // cells of topo -m
	elements string   // of the report
}

// linkedHost composes a host of the GPUs. nvidia-smi numbers them against the order of their addresses, as drivers may.
func linkedHost(gpus []linkedGPU, functions ...compose.Function) *compose.Host {
	h := compose.New("links")
	h.PCI(functions...)
	var elements []string
	matrix, status := "\t\x1b[4m", ""
	for i := range gpus {
		matrix += fmt.Sprintf("GPU%d\t", i)
	}
	matrix += "NIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
	for i, gpu := range gpus {
		bus := fmt.Sprintf("%02x:00.0", 0x90-0x10*i)
		h.PCI(compose.GPUAt("0000:"+bus, gpu.ids))
		uuid := fmt.Sprintf("GPU-%08d", i)
		element := smiGPU("00000000:"+strings.ToUpper(bus), gpu.elements)
		elements = append(elements, strings.Replace(element, "GPU-00000000-0000-0000-0000-000000000000", uuid, 1))
		matrix += fmt.Sprintf("GPU%d\t%s\tSYS\t0-19\t0\n", i, strings.Join(strings.Fields(gpu.row), "\t"))
		status += fmt.Sprintf("GPU %d: NVIDIA (UUID: %s)\n", i, uuid)
		for link, rate := range gpu.links {
			status += fmt.Sprintf("\t Link %d: %s\n", link, rate)
		}
	}
	h.Command(smiReport(elements...), "nvidia-smi", "-q", "-x")
	h.Command(matrix+"NIC0\tSYS\tSYS\n\nLegend:\n\n  NV#  = Connection traversing a bonded set of # NVLinks\n", "nvidia-smi", "topo", "-m")
	h.Command(status, "nvidia-smi", "nvlink", "-s")
	return h
}

func TestNVIDIALinks(t *testing.T) {
	const (
		sxm, pcie, l40s, a100 = "10de:2330 10de:16c1", "10de:2331 10de:1626", "10de:26b9 10de:1851", "10de:20b0 10de:134f"
		a, b, c, d            = v1alpha1.DeviceID("nvidia-0000:60:00.0"), v1alpha1.DeviceID("nvidia-0000:70:00.0"), v1alpha1.DeviceID("nvidia-0000:80:00.0"), v1alpha1.DeviceID("nvidia-0000:90:00.0")
		completed             = "<fabric><state>Completed</state><status>Success</status><cliqueId>%s</cliqueId><clusterUuid>%s</clusterUuid></fabric>"
		cluster               = "9f1a0000-0000-0000-0000-00000000c0de"
	)
	partition := func(clique string) string {
		return fmt.Sprintf(completed, clique, "00000000-0000-0000-0000-000000000000")
	}
	local := partition("0")
	nvSwitch := compose.Function{Place: "pci0000:00/0000:05:00.0", IDs: "10de:22a3 10de:0000", Class: "068000", Revision: "a1"}
	eighteen := slices.Repeat([]string{"26.562 GB/s"}, 18)
	twelve := slices.Repeat([]string{"25 GB/s"}, 12)
	domain := func(name string, topology v1alpha1.DomainTopology, device, peer int64, members ...v1alpha1.DeviceID) v1alpha1.Links {
		return v1alpha1.Links{Domains: []v1alpha1.LinkDomain{{
			Name: name, Kind: "NVLink", Topology: topology, Members: members, DeviceMBps: device, PeerMBps: peer,
		}}}
	}
	spanning := domain("nvlink-7-"+cluster, v1alpha1.TopologySwitch, 450000, 450000, c, d)
	spanning.Domains[0].Fabric = &v1alpha1.Fabric{ClusterUUID: cluster, CliqueID: "7"}

	tests := map[string]struct {
		gpus      []linkedGPU
		functions []compose.Function
		want      v1alpha1.Links
	}{
		"no links": {
			gpus: []linkedGPU{{ids: l40s, row: "X SYS"}, {ids: l40s, row: "SYS X"}},
		},
		"bridged pairs": { // NV12 is no switch
			gpus: []linkedGPU{
				{ids: pcie, row: "X NV12 SYS SYS", links: twelve},
				{ids: pcie, row: "NV12 X SYS SYS", links: twelve},
				{ids: pcie, row: "SYS SYS X NV12", links: twelve},
				{ids: pcie, row: "SYS SYS NV12 X", links: twelve},
			},
			want: v1alpha1.Links{Pairs: []v1alpha1.LinkPair{
				{A: a, B: b, Kind: "NVLink", Count: 12, MBps: 300000}, {A: c, B: d, Kind: "NVLink", Count: 12, MBps: 300000},
			}},
		},
		"inactive links do not count": {
			gpus: []linkedGPU{
				{ids: pcie, row: "X NV2", links: []string{"25 GB/s", "<inactive>", "25 GB/s", "<inactive>"}},
				{ids: pcie, row: "NV2 X", links: []string{"25 GB/s", "25 GB/s", "<inactive>", "<inactive>"}},
			},
			want: v1alpha1.Links{Pairs: []v1alpha1.LinkPair{{A: c, B: d, Kind: "NVLink", Count: 2, MBps: 50000}}},
		},
		"the narrower direction counts": {
			gpus: []linkedGPU{{ids: pcie, row: "X NV4", links: twelve}, {ids: pcie, row: "NV2 X", links: twelve}},
			want: v1alpha1.Links{Pairs: []v1alpha1.LinkPair{{A: c, B: d, Kind: "NVLink", Count: 2, MBps: 50000}}},
		},
		"four in a mesh": {
			gpus: []linkedGPU{
				{ids: a100, row: "X NV4 NV4 NV4", links: twelve},
				{ids: a100, row: "NV4 X NV4 NV4", links: twelve},
				{ids: a100, row: "NV4 NV4 X NV4", links: twelve},
				{ids: a100, row: "NV4 NV4 NV4 X", links: twelve},
			},
			want: domain("nvlink-0000:60:00.0", v1alpha1.TopologyMesh, 300000, 100000, a, b, c, d),
		},
		"a chain is no domain": {
			gpus: []linkedGPU{
				{ids: a100, row: "X NV4 SYS", links: twelve}, {ids: a100, row: "NV4 X NV8", links: twelve}, {ids: a100, row: "SYS NV8 X", links: twelve},
			},
			want: v1alpha1.Links{Pairs: []v1alpha1.LinkPair{
				{A: b, B: c, Kind: "NVLink", Count: 8, MBps: 200000}, {A: c, B: d, Kind: "NVLink", Count: 4, MBps: 100000},
			}},
		},
		"a switch on PCI, and a card beside it": {
			gpus: []linkedGPU{
				{ids: a100, row: "X NV12 SYS", links: twelve}, {ids: a100, row: "NV12 X SYS", links: twelve}, {ids: l40s, row: "SYS SYS X"},
			},
			functions: []compose.Function{nvSwitch},
			want:      domain("nvlink", v1alpha1.TopologySwitch, 300000, 300000, c, d),
		},
		"more links to peers than a GPU has": {
			gpus: []linkedGPU{
				{ids: sxm, row: "X NV18 NV18", links: eighteen}, {ids: sxm, row: "NV18 X NV18", links: eighteen}, {ids: sxm, row: "NV18 NV18 X", links: eighteen},
			},
			want: domain("nvlink", v1alpha1.TopologySwitch, 450000, 450000, b, c, d),
		},
		"a fabric in the host": {
			gpus: []linkedGPU{
				{ids: sxm, row: "X NV18", links: eighteen, elements: local}, {ids: sxm, row: "NV18 X", links: eighteen, elements: local},
			},
			want: domain("nvlink", v1alpha1.TopologySwitch, 450000, 450000, c, d),
		},
		"half the links of one GPU are down": {
			gpus: []linkedGPU{
				{ids: sxm, row: "X NV9", links: eighteen[:9], elements: local}, {ids: sxm, row: "NV9 X", links: eighteen, elements: local},
			},
			want: domain("nvlink", v1alpha1.TopologySwitch, 239058, 239058, c, d),
		},
		"a fabric over nodes": {
			gpus: []linkedGPU{
				{ids: sxm, row: "X NV18", links: eighteen, elements: fmt.Sprintf(completed, "7", cluster)},
				{ids: sxm, row: "NV18 X", links: eighteen, elements: fmt.Sprintf(completed, "7", cluster)},
			},
			want: spanning,
		},
		"two partitions of a fabric": {
			gpus: []linkedGPU{
				{ids: sxm, row: "X NV18 NV18 NV18", links: eighteen, elements: partition("2")},
				{ids: sxm, row: "NV18 X NV18 NV18", links: eighteen, elements: partition("1")},
				{ids: sxm, row: "NV18 NV18 X NV18", links: eighteen, elements: partition("2")},
				{ids: sxm, row: "NV18 NV18 NV18 X", links: eighteen, elements: partition("1")},
			},
			want: v1alpha1.Links{Domains: slices.Concat(
				domain("nvlink-1", v1alpha1.TopologySwitch, 450000, 450000, a, c).Domains,
				domain("nvlink-2", v1alpha1.TopologySwitch, 450000, 450000, b, d).Domains,
			)},
		},
		"MIG has no links": {
			gpus: []linkedGPU{
				{ids: sxm, row: "X NV18", links: eighteen, elements: "<mig_mode><current_mig>Enabled</current_mig></mig_mode>" + local},
				{ids: sxm, row: "NV18 X", links: eighteen, elements: local},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := detectGPUs(t, linkedHost(test.gpus, test.functions...).Replay(t))
			if diff := cmp.Diff(test.want, status.Links, routes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a switch connects is known without the tool too, from the bus and the catalogue.
func TestNVIDIASwitchWithoutTool(t *testing.T) {
	h := compose.Recorded(t, "nvidia-h100-8.tar.gz")
	full := detectGPUs(t, h)
	h.Commands = nil
	bare := detectGPUs(t, h)
	if diff := cmp.Diff(full.Links, bare.Links, routes); diff != "" {
		t.Errorf("links with and without the tool:\n%s", diff)
	}
	ids := func(status v1alpha1.AcceleratorInventoryStatus) (ids []v1alpha1.DeviceID) {
		for _, d := range status.Devices {
			ids = append(ids, d.ID)
		}
		return ids
	}
	if diff := cmp.Diff(ids(full), ids(bare)); diff != "" || len(bare.Devices) != 8 {
		t.Errorf("devices with and without the tool:\n%s", diff)
	}
}

func TestNVIDIATopologyCaptures(t *testing.T) {
	for _, name := range []string{
		"linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05.txt.gz", "linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt.gz",
		"linux-x86_64__nvidia-h100-mig__590.48.01.txt.gz", "linux-x86_64__nvidia-l40s__595.80.txt.gz",
	} {
		t.Run(name, func(t *testing.T) {
			capture := string(facts.Read(t, "captures/nvidia-smi/"+name))
			matrix, status := captureSection(t, capture, "nvidia-smi topo -m"), captureSection(t, capture, "nvidia-smi nvlink -s")
			active, mbps := 0, int64(0)
			if strings.Contains(name, "hbm3") {
				active, mbps = 18, 18*26562
			}
			pairs, gotActive, gotMBps := nvidia.LinksOf(matrix, status)
			if pairs != 0 || gotActive != active || gotMBps != mbps {
				t.Errorf("%d pairs, %d links of %d MB/s; want none, %d, %d", pairs, gotActive, gotMBps, active, mbps)
			}
		})
	}
}

// On POWER9 half of a V100's links lead to its processor: the others make pairs, and nothing is behind a switch.
func TestNVLinksToProcessorsMakeNoSwitch(t *testing.T) {
	six := slices.Repeat([]string{"25.781 GB/s"}, 6)
	ids := "10de:1db1 10de:1212"
	links := detectGPUs(t, linkedHost([]linkedGPU{
		{ids: ids, links: six, row: "X NV3 SYS SYS"},
		{ids: ids, links: six, row: "NV3 X SYS SYS"},
		{ids: ids, links: six, row: "SYS SYS X NV3"},
		{ids: ids, links: six, row: "SYS SYS NV3 X"},
	}).Replay(t)).Links
	if len(links.Domains) != 0 || len(links.Unread) != 0 || len(links.Pairs) != 2 || links.Pairs[0].Count != 3 || links.Pairs[0].MBps != 75_000 {
		t.Errorf("%+v", links)
	}
}
