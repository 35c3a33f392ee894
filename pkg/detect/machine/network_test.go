package machine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/machine"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// nicAt is a network function on a root port of its own.
func nicAt(address, driver string) compose.Function {
	return compose.Function{
		Place: fmt.Sprintf("pci%s/%s01.0/%s", address[:7], address[:8], address), IDs: "15b3:1021 15b3:0023", Class: "020000", Revision: "00",
		Driver: driver, NUMA: 1, Link: "32.0 GT/s PCIe x16",
	}
}

// ports detects with the network backend alone.
func ports(t *testing.T, h *host.Host) ([]v1alpha1.NIC, v1alpha1.BackendStatus) {
	t.Helper()
	status := detect.Detect(t.Context(), h, detect.Options{Backends: []backend.Backend{machine.Network()}}).Status
	return status.NICs, status.Backends[0]
}

var withoutPlace = cmpopts.IgnoreFields(v1alpha1.NIC{}, "PCI", "NUMANode")

func TestNetworkPorts(t *testing.T) {
	const card = "0000:17:00.0"
	tests := map[string]struct {
		driver  string
		compose func(h *compose.Host, folder string)
		want    []v1alpha1.NIC
	}{
		"InfiniBand": {
			driver: "mlx5_core",
			compose: func(h *compose.Host, folder string) {
				h.RDMA(folder, "mlx5_0", "1: CA", compose.NDR())
				h.Interface(folder, compose.Interface{Name: "ib0", Type: 32, Mbps: 400000})
			},
			want: []v1alpha1.NIC{{Name: "mlx5_0/1", Kind: "InfiniBand", Interfaces: []string{"ib0"}, Driver: "mlx5_core", Gbps: 400, Up: true}},
		},
		"RoCE of both versions": {
			driver: "mlx5_core",
			compose: func(h *compose.Host, folder string) {
				h.RDMA(folder, "rocep23s0", "1: CA", compose.RoCE400("eth0"))
				h.Interface(folder, compose.Interface{Name: "eth0", Mbps: 400000})
			},
			want: []v1alpha1.NIC{{
				Name: "rocep23s0/1", Kind: "RoCE", RoCEVersions: []string{"v1", "v2"}, Interfaces: []string{"eth0"}, Driver: "mlx5_core", Gbps: 400, Up: true,
			}},
		},
		"RoCE of version 2 behind an empty index": {
			driver: "bnxt_en",
			compose: func(h *compose.Host, folder string) {
				h.RDMA(folder, "bnxt_re0", "1: CA", compose.Port{
					Layer: "Ethernet", Rate: "100 Gb/sec (4X EDR)", GIDs: []string{"", "RoCE v2"}, Interface: "eth0",
				})
			},
			want: []v1alpha1.NIC{{
				Name: "bnxt_re0/1", Kind: "RoCE", RoCEVersions: []string{"v2"}, Interfaces: []string{"eth0"}, Driver: "bnxt_en", Gbps: 100, Up: true,
			}},
		},
		// Only the first port was looked at once.
		"every port of a device, one of each kind": {
			driver: "mlx4_core",
			compose: func(h *compose.Host, folder string) {
				h.RDMA(folder, "mlx4_0", "1: CA", compose.Port{Layer: "InfiniBand", Rate: "56 Gb/sec (4X FDR)"},
					compose.Port{Layer: "Ethernet", Rate: "10 Gb/sec (1X QDR)", GIDs: []string{"IB/RoCE v1"}, Interface: "eth0"})
				h.Interface(folder, compose.Interface{Name: "ib0", Type: 32, Mbps: 56000})
				h.Interface(folder, compose.Interface{Name: "eth0", Port: 1, Mbps: 10000, Extra: map[string]string{"phys_port_name": "p1"}})
			},
			want: []v1alpha1.NIC{
				{Name: "mlx4_0/1", Kind: "InfiniBand", Interfaces: []string{"ib0"}, Driver: "mlx4_core", Gbps: 56, Up: true},
				{Name: "mlx4_0/2", Kind: "RoCE", RoCEVersions: []string{"v1"}, Interfaces: []string{"eth0"}, Driver: "mlx4_core", Gbps: 10, Up: true},
			},
		},
		"iWARP, whose addresses are of the type of InfiniBand's": {
			driver: "ice",
			compose: func(h *compose.Host, folder string) {
				h.RDMA(folder, "irdma0", "4: RNIC", compose.Port{Layer: "Ethernet", Rate: "100 Gb/sec (4X EDR)", GIDs: []string{"IB/RoCE v1"}})
			},
			want: []v1alpha1.NIC{{Name: "irdma0/1", Kind: "iWARP", Driver: "ice", Gbps: 100, Up: true}},
		},
		"EFA, which has neither link layer nor interface": {
			driver: "efa",
			compose: func(h *compose.Host, folder string) {
				h.RDMA(folder, "rdmap79s0", "7: unspecified", compose.Port{Layer: "Unknown", Rate: "100 Gb/sec (4X EDR)"})
			},
			want: []v1alpha1.NIC{{Name: "rdmap79s0/1", Kind: "EFA", Driver: "efa", Gbps: 100, Up: true}},
		},
		"down: the rate that the kernel makes up is none": {
			driver: "mlx5_core",
			compose: func(h *compose.Host, folder string) {
				h.RDMA(folder, "mlx5_0", "1: CA", compose.Port{Layer: "InfiniBand", Rate: "10 Gb/sec (4X SDR)", Down: true})
			},
			want: []v1alpha1.NIC{{Name: "mlx5_0/1", Kind: "InfiniBand", Driver: "mlx5_core"}},
		},
		"Ethernet": {
			driver: "ixgbe",
			compose: func(h *compose.Host, folder string) {
				h.Interface(folder, compose.Interface{Name: "eth0", Mbps: 10000})
			},
			want: []v1alpha1.NIC{{Name: "eth0", Kind: "Ethernet", Interfaces: []string{"eth0"}, Driver: "ixgbe", Gbps: 10, Up: true}},
		},
		"Ethernet that does not tell its rate": {
			driver: "ena",
			compose: func(h *compose.Host, folder string) {
				h.Interface(folder, compose.Interface{Name: "eth0", Mbps: -1})
			},
			want: []v1alpha1.NIC{{Name: "eth0", Kind: "Ethernet", Interfaces: []string{"eth0"}, Driver: "ena", Up: true}},
		},
		"Ethernet that is down": {
			driver: "ixgbe",
			compose: func(h *compose.Host, folder string) {
				h.Interface(folder, compose.Interface{Name: "eth0", Down: true})
			},
			want: []v1alpha1.NIC{{Name: "eth0", Kind: "Ethernet", Interfaces: []string{"eth0"}, Driver: "ixgbe"}},
		},
		"RoCE over a bond of both ports": {
			driver: "mlx5_core",
			compose: func(h *compose.Host, folder string) {
				h.Software("bond0")
				h.File("/sys/devices/virtual/net/bond0/bonding/slaves", "eth0 eth1")
				second := nicAt("0000:17:00.1", "mlx5_core")
				h.PCI(second)
				h.RDMA(folder, "mlx5_bond_0", "1: CA", compose.RoCE400("bond0"))
				h.Interface(folder, compose.Interface{Name: "eth0", Mbps: 200000})
				h.Interface(second.Folder(), compose.Interface{Name: "eth1", Mbps: 200000})
			},
			want: []v1alpha1.NIC{{
				Name: "mlx5_bond_0/1", Kind: "RoCE", RoCEVersions: []string{"v1", "v2"}, Interfaces: []string{"bond0", "eth0", "eth1"},
				Driver: "mlx5_core", Gbps: 400, Up: true,
			}},
		},
		"wireless is no port": {
			driver: "iwlwifi",
			compose: func(h *compose.Host, folder string) {
				h.Interface(folder, compose.Interface{Name: "wlan0", Mbps: -1, Extra: map[string]string{"wireless/status": "0"}})
			},
		},
		"representors of virtual functions are no ports": {
			driver: "mlx5_core",
			compose: func(h *compose.Host, folder string) {
				h.RDMA(folder, "mlx5_0", "1: CA", compose.RoCE400("eth0"), compose.RoCE400("eth0_1"))
				h.Interface(folder, compose.Interface{Name: "eth0", Mbps: 400000, Extra: map[string]string{"phys_port_name": "p0"}})
				h.Interface(folder, compose.Interface{Name: "eth0_1", Mbps: 400000, Extra: map[string]string{"phys_port_name": "pf0vf1"}})
				h.Interface(folder, compose.Interface{Name: "eth0_2", Mbps: 400000, Extra: map[string]string{"phys_port_name": "c1pf0sf88"}})
			},
			want: []v1alpha1.NIC{{
				Name: "mlx5_0/1", Kind: "RoCE", RoCEVersions: []string{"v1", "v2"}, Interfaces: []string{"eth0"}, Driver: "mlx5_core", Gbps: 400, Up: true,
			}},
		},
		"an interface above a virtual function is no port besides it": {
			driver: "mlx5_core",
			compose: func(h *compose.Host, folder string) {
				const bus = "/sys/devices/LNXSYSTM:00/VMBUS:00/f8615163-0000-1000-2000-000d3a000000"
				h.Link(bus+"/driver", "/sys/bus/vmbus/drivers/hv_netvsc")
				h.Interface(bus, compose.Interface{Name: "eth0", Mbps: 100000, Extra: map[string]string{"lower_enP1s1/type": "1"}})
				h.Interface(folder, compose.Interface{Name: "enP1s1", Mbps: 100000})
			},
			want: []v1alpha1.NIC{{Name: "enP1s1", Kind: "Ethernet", Interfaces: []string{"enP1s1"}, Driver: "mlx5_core", Gbps: 100, Up: true}},
		},
		"soft RoCE is no port": {
			driver: "ixgbe",
			compose: func(h *compose.Host, folder string) {
				h.File("/sys/devices/virtual/infiniband/rxe0/ports/1/state", "4: ACTIVE")
				h.Link("/sys/class/infiniband/rxe0", "../../devices/virtual/infiniband/rxe0")
				h.RDMA(folder, "rxe1", "1: CA", compose.RoCE400("eth0"))
				h.File(folder+"/infiniband/rxe1/parent", "eth0")
			},
		},
		"virtual functions and sub-functions are no ports of the host": {
			driver: "mlx5_core",
			compose: func(h *compose.Host, folder string) {
				vf := nicAt("0000:17:00.2", "mlx5_core")
				h.PCI(vf)
				h.Link(vf.Folder()+"/physfn", "../"+card)
				h.RDMA(vf.Folder(), "mlx5_1", "1: CA", compose.RoCE400("eth1"))
				h.Interface(vf.Folder(), compose.Interface{Name: "eth1", Mbps: 400000})
				h.RDMA(folder+"/mlx5_core.sf.4", "mlx5_2", "1: CA", compose.RoCE400("eth2"))
				h.Interface(folder+"/mlx5_core.sf.4", compose.Interface{Name: "eth2", Mbps: 400000})
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := compose.New("ports")
			function := nicAt(card, test.driver)
			h.PCI(function)
			h.Software("lo", "docker0", "veth1")
			h.File("/sys/class/net/bonding_masters", "bond0")
			test.compose(h, function.Folder())
			got, outcome := ports(t, h.Replay(t))
			if diff := cmp.Diff(test.want, got, withoutPlace); diff != "" {
				t.Error(diff)
			}
			if outcome.Message != "" {
				t.Errorf("%+v", outcome)
			}
		})
	}
}

func TestNetworkPlaces(t *testing.T) {
	h := compose.New("places")
	onCard, virtio := nicAt("0000:17:00.0", "mlx5_core"), nicAt("0000:20:00.0", "virtio-pci")
	usb := compose.Function{Place: "pci0000:00/0000:00:14.0", IDs: "8086:a0ed 8086:0000", Class: "0c0330", Driver: "xhci_hcd"}
	h.PCI(onCard, virtio, usb)
	h.RDMA(onCard.Folder(), "mlx5_0", "1: CA", compose.NDR())
	h.Interface(virtio.Folder()+"/virtio0", compose.Interface{Name: "eth0", Mbps: -1})
	h.Link(virtio.Folder()+"/virtio0/driver", "/sys/bus/virtio/drivers/virtio_net")
	h.Interface(usb.Folder()+"/usb1/1-2/1-2:1.0", compose.Interface{Name: "usb0", Mbps: 100})
	h.Interface("/sys/devices/platform/soc/30be0000.ethernet", compose.Interface{Name: "end0", Mbps: 1000})

	got, _ := ports(t, h.Replay(t))
	type seen struct{ Name, Driver, Address, Bridges, NUMA string }
	var places []seen
	for _, nic := range got {
		s := seen{Name: nic.Name, Driver: nic.Driver, NUMA: "-"}
		if nic.PCI != nil {
			s.Address, s.Bridges = nic.PCI.Address, nic.PCI.Root+" "+strings.Join(nic.PCI.Bridges, " ")
		}
		if nic.NUMANode != nil {
			s.NUMA = fmt.Sprint(*nic.NUMANode)
		}
		places = append(places, s)
	}
	want := []seen{
		{"end0", "", "", "", "-"},
		{"eth0", "virtio_net", "0000:20:00.0", "pci0000:20 0000:20:01.0", "1"},
		{"mlx5_0/1", "mlx5_core", "0000:17:00.0", "pci0000:17 0000:17:01.0", "1"},
		{"usb0", "", "", "", "-"},
	}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Error(diff)
	}
}

func TestNetworkFails(t *testing.T) {
	h := compose.New("unreadable")
	function := nicAt("0000:17:00.0", "mlx5_core")
	h.PCI(function)
	h.RDMA(function.Folder(), "mlx5_0", "1: CA", compose.NDR())
	seen := h.Replay(t)
	seen.Files = compose.Broken{Files: seen.Files, Name: "/sys/class/infiniband/mlx5_0/ports/1/state", Err: errors.New("input/output error")}
	nics, outcome := ports(t, seen)
	if len(nics) != 1 || nics[0].Up || outcome.State != v1alpha1.BackendDegraded || !strings.Contains(outcome.Message, "state") {
		t.Errorf("%+v, %+v", nics, outcome)
	}

	empty := host.NewRecording()
	if nics, outcome := ports(t, empty.Host()); len(nics) != 0 || outcome.State != v1alpha1.BackendFailed {
		t.Errorf("a host without /sys: %+v, %+v", nics, outcome)
	}
}

// counted counts what is asked of Files.
type counted struct {
	host.Files
	calls map[string]int
}

func (c counted) ReadFile(name string) ([]byte, error) {
	c.calls["read"]++
	return c.Files.ReadFile(name)
}

func (c counted) ReadDir(name string) ([]string, error) {
	c.calls["list"]++
	return c.Files.ReadDir(name)
}

func (c counted) ReadLink(name string) (string, error) {
	c.calls["link"]++
	return c.Files.ReadLink(name)
}

func (c counted) RealPath(name string) (string, error) {
	c.calls["path"]++
	return c.Files.RealPath(name)
}

func (c counted) Stat(name string) (fs.FileMode, error) { c.calls["stat"]++; return c.Files.Stat(name) }

// A node with many pods has many virtual interfaces: each costs the reading of one link.
func TestNetworkVirtualInterfacesAreCheap(t *testing.T) {
	calls := func(interfaces int) map[string]int {
		h := compose.New("pods")
		for i := range interfaces {
			h.Software(fmt.Sprintf("veth%d", i))
		}
		seen := h.Replay(t)
		files := counted{seen.Files, map[string]int{}}
		seen.Files = files
		if nics, _ := ports(t, seen); len(nics) != 0 {
			t.Fatalf("%+v", nics)
		}
		return files.calls
	}
	none, many := calls(0), calls(500)
	many["link"] -= 500
	if diff := cmp.Diff(none, many, cmpopts.EquateEmpty(), cmpopts.IgnoreMapEntries(func(_ string, n int) bool { return n == 0 })); diff != "" {
		t.Errorf("what 500 virtual interfaces cost besides a link each:\n%s", diff)
	}
}
