package intel

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// gaudiGenerations are the generations by PCI device id. Sources: Linux, drivers/accel/habanalabs/common/habanalabs_drv.c; for
// Gaudi3 and further ids of Gaudi: intel/intel-resource-drivers-for-kubernetes, pkg/gaudi/device.
var gaudiGenerations = map[string]string{
	"0001": "Goya",
	"1000": "Gaudi", "1001": "Gaudi", "1010": "Gaudi", "1011": "Gaudi",
	"1020": gaudi2,
	"1030": gaudi3, "1060": gaudi3, "1061": gaudi3, "1062": gaudi3, "1063": gaudi3,
}

const (
	gaudi2 = "Gaudi2"
	gaudi3 = "Gaudi3"
)

// gaudiCard is a PCI function with what its driver and hl-smi say of it.
type gaudiCard struct {
	pci.Function
	member     gaudiMember
	generation string
	status     string
	firmware   string
	// module is the number of the slot on the baseboard; empty where it is not known.
	module   string
	smi      hlDevice
	answered bool
}

// gaudiMember is a card's entry in a device class.
type gaudiMember struct {
	folder string
	index  *int32
	paths  []string
}

// gaudiClasses are the classes that cards are in, with what entries are called for work and for control.
var gaudiClasses = []struct{ class, work, control string }{
	{"accel", "accel", "accel_controlD"},
	{"habanalabs", "hl", "hl_controlD"},
}

// gaudiMembers finds the entries by the PCI addresses of their cards: the address of the device that an entry belongs to, or
// what the driver writes into pci_addr where its entries belong to no device.
func gaudiMembers(files host.Files) (map[string]gaudiMember, error) {
	members := map[string]gaudiMember{}
	for _, kind := range gaudiClasses {
		class := path.Join("/sys/class", kind.class)
		numbers, err := host.ReadNumbered(files, class, kind.work)
		if err != nil {
			return members, err
		}
		for _, number := range numbers {
			index := int32(number)
			digits := strconv.Itoa(number)
			folder := path.Join(class, kind.work+digits)
			member := gaudiMember{folder: folder, index: &index}
			for _, name := range []string{kind.work + digits, kind.control + digits} {
				if node := sysfs.DeviceNode(files, path.Join(class, name)); node != "" {
					member.paths = append(member.paths, node)
				}
			}
			if address := gaudiAddress(files, folder); address != "" {
				members[address] = member
			}
		}
	}
	return members, nil
}

// gaudiAddress is the PCI address of the card that an entry belongs to.
func gaudiAddress(files host.Files, folder string) string {
	for _, name := range []string{"pci_addr", "device/pci_addr"} {
		if address, ok, _ := host.ReadText(files, path.Join(folder, name)); ok && pci.IsAddress(address) {
			return address
		}
	}
	device, _ := files.RealPath(path.Join(folder, "device"))
	if address := path.Base(device); pci.IsAddress(address) {
		return address
	}
	return ""
}

func readGaudiCard(files host.Files, function pci.Function, member gaudiMember) gaudiCard {
	attribute := func(names ...string) string {
		for _, name := range names {
			// Where the files lie depends on the driver's version.
			for _, folder := range []string{function.Path, member.folder} {
				if folder == "" {
					continue
				}
				if value, ok, _ := host.ReadText(files, path.Join(folder, name)); ok {
					return host.Clip(value, 64)
				}
			}
		}
		return ""
	}
	card := gaudiCard{Function: function, member: member, generation: gaudiGenerations[function.DeviceID]}
	if function.Driver == gaudiDriver {
		card.status, card.module = attribute("status"), attribute("module_id")
		card.firmware = attribute("cpucp_ver", "armcp_ver")
	}
	return card
}

// device lists the card.
func (c gaudiCard) device(files host.Files) v1alpha1.Device {
	device, product, known := gaudiKind.Device(files, c.Function, c.smi.name)
	if known && strings.HasPrefix(product.Name, c.smi.name) {
		device.Product = product.Name // hl-smi gives the bare model, and none of a card that has failed
	}
	device.Product = cmp.Or(device.Product, strings.TrimSpace("Intel "+cmp.Or(c.generation, "accelerator"))+" "+habanaLabs+":"+c.DeviceID)
	device.Architecture = cmp.Or(device.Architecture, c.generation)
	device.UUID, device.FirmwareVersion = c.smi.uuid, c.firmware
	if c.smi.totalMiB > 0 {
		device.Memory = backend.Memory(c.smi.totalMiB, c.smi.usedMiB, v1alpha1.SourceDriver)
	}
	if c.Driver == gaudiDriver {
		device.Paths, device.Index = c.member.paths, c.member.index
	}
	device.Health = c.health(device)
	return device
}

// gaudiStates is what the driver's words for a card's status mean; it writes the first letter in upper case. Source: Linux,
// drivers/accel/habanalabs/common/{sysfs,habanalabs_drv}.c.
var gaudiStates = map[string]v1alpha1.DeviceHealth{
	"Operational":                   {State: v1alpha1.Healthy},
	"In reset":                      {State: v1alpha1.Degraded, Reason: "InReset", Message: "the driver resets the card"},
	"In reset after device release": {State: v1alpha1.Degraded, Reason: "InReset", Message: "the driver resets the card after its last use"},
	"In device creation":            {State: v1alpha1.Degraded, Reason: "Starting", Message: "the driver starts the card"},
	"Needs reset":                   {State: v1alpha1.Unhealthy, Reason: "NeedsReset", Message: "the card needs a reset: hl-smi -r -i with its PCI address"},
	"Disabled":                      {State: v1alpha1.Unhealthy, Reason: "Disabled", Message: "the driver has disabled the card: see dmesg"},
	"Malfunction":                   {State: v1alpha1.Unhealthy, Reason: "Malfunction", Message: "the driver reports a malfunction of the card: see dmesg"},
}

func (c gaudiCard) health(device v1alpha1.Device) v1alpha1.DeviceHealth {
	judged := backend.HealthUnder(device, "load habanalabs", gaudiDriver)
	if c.status == "" || judged.Reason == backend.ReasonOtherDriver {
		return judged
	}
	state, known := gaudiStates[c.status]
	switch {
	case !known:
		return backend.Unknown("UnknownStatus", "the driver reports the status "+c.status)
	case state.State == v1alpha1.Healthy && judged.State == v1alpha1.Healthy:
		return backend.Healthy("the driver reports the status " + c.status)
	case state.State == v1alpha1.Healthy:
		return judged
	default:
		return state
	}
}

// gaudiBoard is a baseboard on which every two cards are joined by as many ports.
type gaudiBoard struct {
	// deviceID is the PCI device id of the cards made for the board. Cards for PCIe slots have no such links.
	deviceID string
	// portMBps is what a port carries in one direction.
	portMBps int64
}

const (
	gaudiBoardCards   = 8
	gaudiPortsPerPeer = 3
)

// gaudiBoards: 21 of a card's 24 ports lead to the seven others of its board, three to each. Ports have 100 Gb/s on
// Gaudi2 and 200 Gb/s on Gaudi3. Source: Intel Gaudi documentation, Network Configuration (Gaudi3: 525 GB/s a card in one
// direction), and for Gaudi2 the catalogue.
var gaudiBoards = []gaudiBoard{
	{"1020", 12_500},
	{"1060", 25_000},
}

// gaudiLinks joins the cards of a board where all of them are there, each in another module.
func gaudiLinks(cards []gaudiCard) v1alpha1.Links {
	var links v1alpha1.Links
	for _, board := range gaudiBoards {
		var members []v1alpha1.DeviceID
		modules := map[string]bool{}
		first := ""
		for _, card := range cards {
			module := cmp.Or(card.module, card.smi.module)
			if card.DeviceID != board.deviceID || module == "" {
				continue
			}
			modules[module] = true
			members = append(members, v1alpha1.DeviceID(gaudiKind.Vendor+"-"+card.Address))
			if first == "" {
				first = card.Address
			}
		}
		if len(members) != gaudiBoardCards || len(modules) != gaudiBoardCards {
			continue
		}
		peer := board.portMBps * gaudiPortsPerPeer
		links.Domains = append(links.Domains, v1alpha1.LinkDomain{
			Name: "roce-" + first, Kind: "RoCE", Topology: v1alpha1.TopologyMesh, Members: members,
			PeerMBps: peer, DeviceMBps: peer * (gaudiBoardCards - 1),
		})
	}
	return links
}
