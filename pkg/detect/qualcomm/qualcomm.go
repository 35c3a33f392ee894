// Package qualcomm finds Qualcomm's Cloud AI accelerators.
package qualcomm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// CloudAI finds Qualcomm's Cloud AI SoCs on the PCI bus, by their ids or by the driver qaic, each of them. A card of the
// Ultra kind is four SoCs behind a switch of its own, so it is listed as four devices, partitions of the card: four SoCs
// that are alone behind one switch, each at a port of its own, are taken for one unless qaic-util says that they are not.
//
// One PCI id stands for all kinds of AI 100, so what kind a card is, and with it the memory, is known from qaic-util
// alone, by PCI address. qaic-util needs root.
//
// Sources: drivers/accel/qaic of Linux and its documentation for ids, driver and nodes; quic/cloud-ai-sdk-pages for the
// cards; QUtil.cpp and qaic-util of quic/software-kit-for-qualcomm-cloud-ai-100, and outputs that users published.
func CloudAI() backend.Backend { return backend.NewOnPCI(qaicKind, isQaic, list) }

const (
	qualcommPCIVendor = "17cb"
	qaicDriver        = "qaic"
)

var qaicKind = backend.Kind{Backend: "qualcomm", Vendor: "qualcomm", Family: v1alpha1.FamilyASIC}

// qaicFamilies are the families of SoCs by PCI device id: qaic_drv.c of Linux.
var qaicFamilies = map[string]string{"a080": "Cloud AI 080", "a100": "Cloud AI 100", "a110": "Cloud AI 200"}

func list(ctx context.Context, h *host.Host, functions []pci.Function, found *backend.Found) {
	members, nodeErr := sysfs.ClassMembers(h.Files, "accel")
	older, olderErr := sysfs.ClassMembers(h.Files, qaicDriver)
	reports, toolErr := queryQaic(ctx, h)
	found.Degrade(nodeErr, olderErr, toolErr)
	socs := make([]*qaicSoC, len(functions))
	for i, function := range functions {
		paths := append(sysfs.NodePaths(members[function.Path]), sysfs.NodePaths(older[function.Path])...)
		socs[i] = &qaicSoC{Function: function, paths: paths, report: reports[function.Address]}
	}
	bus, _ := pci.Functions(h) // an error is told already
	findQaicCards(bus, socs)
	for _, soc := range socs {
		found.Add(soc.device(h.Files), soc.report.reading(soc.card == nil), backend.Signs{})
	}
}

func isQaic(function pci.Function) bool {
	return function.VendorID == qualcommPCIVendor && (qaicFamilies[function.DeviceID] != "" || function.Driver == qaicDriver)
}

// queryQaic runs qaic-util and returns its reports by PCI address.
func queryQaic(ctx context.Context, h *host.Host) (map[string]qaicReport, error) {
	result, err := host.Query(ctx, h, "the kind of card and its memory are told by qaic-util only: install the Cloud AI Platform SDK", host.QaicQuery...)
	if err != nil {
		return nil, err
	}
	reports := parseQaicUtil(string(result.Stdout))
	if len(reports) == 0 {
		return nil, fmt.Errorf("qaic-util -q: names no device: %s", host.Clip(host.FirstLine(result.Stdout, result.Stderr), 128))
	}
	return reports, nil
}

// qaicSoC is a Cloud AI SoC's PCI function with what is known of it.
type qaicSoC struct {
	pci.Function
	paths []string
	// report is nil where qaic-util says nothing of the SoC, card where it is not one of several on a card.
	report qaicReport
	card   *qaicCard
}

// qaicCard is a card of several SoCs.
type qaicCard struct {
	// port is the address of the upstream port of the card's switch.
	port string
	socs []*qaicSoC
}

// socsOfUltra is the number of SoCs on a card of the Ultra kind.
const socsOfUltra = 4

// findQaicCards joins the SoCs of a card: those behind one switch that has nothing else behind it, each at a port of its
// own. A server's own switch can look the same, so whatever qaic-util says of the SoCs must agree.
func findQaicCards(functions []pci.Function, socs []*qaicSoC) {
	bySwitch := map[string][]*qaicSoC{}
	for _, soc := range socs {
		if n := len(soc.Bridges); n >= 2 {
			bySwitch[soc.Bridges[n-2]] = append(bySwitch[soc.Bridges[n-2]], soc)
		}
	}
	for port, members := range bySwitch {
		if len(members) != socsOfUltra || !ownPorts(members) {
			continue
		}
		said, agree := saidUltra(members)
		if !agree || !said && endpointsBehind(functions, port) != socsOfUltra {
			continue
		}
		slices.SortFunc(members, func(a, b *qaicSoC) int { return cmp.Compare(a.Address, b.Address) })
		card := &qaicCard{port: port, socs: members}
		for _, member := range members {
			member.card = card
		}
	}
}

// ownPorts says whether each SoC is behind another port.
func ownPorts(socs []*qaicSoC) bool {
	ports := map[string]bool{}
	for _, soc := range socs {
		ports[soc.Bridges[len(soc.Bridges)-1]] = true
	}
	return len(ports) == len(socs)
}

// saidUltra says whether qaic-util calls all SoCs parts of one Ultra; agree is false where anything that it says of any
// speaks against that.
func saidUltra(socs []*qaicSoC) (said, agree bool) {
	said = true
	serial := ""
	for _, soc := range socs {
		if soc.report == nil {
			said = false
			continue
		}
		sku, board := soc.report[qaicSKU], soc.report[qaicBoard]
		if sku != "" && !strings.HasPrefix(sku, skuUltra) || board != "" && serial != "" && board != serial {
			return false, false
		}
		said = said && sku != "" && board != ""
		serial = cmp.Or(serial, board)
	}
	return said, true
}

// endpointsBehind counts the functions behind a bridge that are no bridges.
func endpointsBehind(functions []pci.Function, bridge string) int {
	count := 0
	for _, function := range functions {
		if !strings.HasPrefix(function.Class, "0604") && slices.Contains(function.Bridges, bridge) {
			count++
		}
	}
	return count
}

// device lists the SoC.
func (s *qaicSoC) device(files host.Files) v1alpha1.Device {
	product := qaicProducts[s.report[qaicSKU]]
	device, _, known := qaicKind.Device(files, s.Function, product)
	device.Product = cmp.Or(product, device.Product, qaicFamilies[s.DeviceID], fmt.Sprintf("Qualcomm %s:%s", s.VendorID, s.DeviceID))
	device.Architecture = cmp.Or(device.Architecture, qaicFamilies[s.DeviceID])
	if known && product == productUltra && device.Memory != nil {
		device.Performance = backend.SharePerformance(device.Performance, socsOfUltra)
		device.Memory.TotalMiB /= socsOfUltra
	}
	device.Paths = s.paths
	device.Health = backend.DriverHealth(s.Driver, s.paths, "load qaic")
	if s.report != nil {
		s.report.describe(&device)
	}
	if s.card != nil {
		device.Partition = &v1alpha1.DevicePartition{
			Kind: "soc", Parent: qaicKind.ID(s.card.port), Index: int32(slices.Index(s.card.socs, s)),
		}
	}
	return device
}
