package main

import (
	"fmt"
	"path"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() { recordings["amd-mi300x-8"] = mi300xHost }

const mi300xReadme = `
A host with 8 AMD Instinct MI300X in SPX/NPS1 mode, all linked by XGMI, and two sockets.

PCI addresses, unique ids, hive id and the numbers of the KFD nodes follow a published capture of the product's KFD
topology in CPX mode (ROCm/k8s-device-plugin, testdata/topo-mi300-cpx, Apache-2.0), each card's eight partitions put
together; weights and rates of the XGMI links are what Linux writes (drivers/gpu/drm/amd/amdkfd/kfd_crat.c,
drivers/gpu/drm/amd/amdgpu/amdgpu_xgmi.c); names and formats of amdgpu's files are those of Documentation/gpu/amdgpu. The
memory is 196592 MiB as reported. KFD's gpu_ids and the root ports are made up.`

// mi300xCard is what differs between the cards.
type mi300xCard struct {
	bus      int
	uniqueID uint64
}

const (
	mi300xHive  = 15188982192727901047
	mi300xBytes = 196592 << 20
	// Each card takes eight render minors, so that its partitions find theirs.
	mi300xMinors = 8
)

// mi300xHost has 4 cards to a socket, each on a host bridge of its own, and a BMC's display that has card0.
func mi300xHost() *compose.Host {
	h := compose.New(mi300xReadme + mi300xNetwork)
	addMI300XNetwork(h)
	h.Machine(compose.Machine{
		Model: "AMD EPYC 9474F 48-Core Processor", VendorID: "AuthenticAMD",
		Sockets: 2, CoresPerSocket: 48, ThreadsPerCore: 2, MemoryGiB: 2304,
		Kernel: "6.8.0-60-generic", OS: "Ubuntu 22.04.5 LTS",
		DMI: map[string]string{"sys_vendor": "Supermicro", "product_name": "AS -8125GS-TNMR2"},
	})
	h.File("/sys/module/amdgpu/version", "6.12.12")
	h.Device("/dev/kfd")
	bmc := compose.Function{
		Place: "pci0000:e0/0000:e0:05.1/0000:ea:00.0", IDs: "1a03:2000 1a03:2000", Class: "030000", Revision: "52", Driver: "ast", NUMA: 1,
	}
	h.PCI(compose.Bridge("pci0000:e0/0000:e0:05.1", "1022:14aa 1022:1453", "", 1), bmc)
	addDRM(h, bmc.Folder(), "card0")

	cards := []mi300xCard{
		{0x05, 16404946649897475633},
		{0x27, 2472748907779728154},
		{0x47, 15565237874008425757},
		{0x65, 12035684874187068538},
		{0x85, 15304831566906821053},
		{0xa7, 13644590235195043050},
		{0xc7, 13326531576914550249},
		{0xe5, 15931900197903628278},
	}
	for i, card := range cards {
		addMI300X(h, i, card)
	}
	addMI300XTopology(h, cards)
	return h
}

func addMI300X(h *compose.Host, i int, card mi300xCard) {
	root := card.bus &^ 0x1f
	port := fmt.Sprintf("pci0000:%02x/0000:%02x:01.1", root, root)
	gpu := compose.Function{
		Place: fmt.Sprintf("%s/0000:%02x:00.0", port, card.bus), IDs: "1002:74a1 1002:74a1", Class: "120000", Revision: "00",
		Driver: "amdgpu", NUMA: i / 4, Link: "32.0 GT/s PCIe x16",
		Extra: map[string]string{
			"product_name":                "AMD Instinct MI300X OAM",
			"vbios_version":               "113-M3000100-102",
			"unique_id":                   fmt.Sprintf("%016x", card.uniqueID),
			"current_compute_partition":   "SPX",
			"current_memory_partition":    "NPS1",
			"mem_info_vram_total":         fmt.Sprint(mi300xBytes),
			"mem_info_vram_used":          fmt.Sprint(283 << 20),
			"ras/umc_err_count":           "ue: 0\nce: 0",
			"xgmi_hive_info/xgmi_hive_id": fmt.Sprint(uint64(mi300xHive)),
			"xgmi_num_hops":               strings.Repeat("01 ", i) + "00 " + strings.Repeat("01 ", 7-i),
		},
	}
	h.PCI(compose.Bridge(port, "1022:14ab 1022:1453", "32.0 GT/s PCIe x16", i/4), gpu)
	addDRM(h, gpu.Folder(), fmt.Sprint("card", 1+i*mi300xMinors), fmt.Sprint("renderD", 128+i*mi300xMinors))
}

// addDRM adds device nodes of a function at a folder, by their names in the DRM class.
func addDRM(h *compose.Host, folder string, names ...string) {
	for _, name := range names {
		node := path.Join(folder, "drm", name)
		h.Link(path.Join(node, "device"), "../../../"+path.Base(folder))
		h.Link("/sys/class/drm/"+name, "../.."+strings.TrimPrefix(node, "/sys"))
		h.Device("/dev/dri/" + name)
	}
}
