// Package qualcomm finds Qualcomm's Cloud AI accelerators.
package qualcomm

import (
	"context"
	"fmt"

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
func CloudAI() backend.Backend { return backend.New("qualcomm", detect) }

const (
	qualcommVendor    = "qualcomm"
	qualcommPCIVendor = "17cb"
	qaicDriver        = "qaic"
)

// qaicFamilies are the families of SoCs by PCI device id: qaic_drv.c of Linux.
var qaicFamilies = map[string]string{"a080": "Cloud AI 080", "a100": "Cloud AI 100", "a110": "Cloud AI 200"}

func detect(ctx context.Context, h *host.Host) (backend.Found, error) {
	functions, err := pci.Functions(h)
	var socs []*qaicSoC
	for _, function := range functions {
		if isQaic(function) && !pci.IsVirtual(h.Files, function) {
			socs = append(socs, &qaicSoC{Function: function})
		}
	}
	if len(socs) == 0 {
		return backend.Found{}, err
	}
	members, nodeErr := sysfs.ClassMembers(h.Files, "accel")
	older, olderErr := sysfs.ClassMembers(h.Files, qaicDriver)
	reports, toolErr := queryQaic(ctx, h)
	for _, soc := range socs {
		soc.paths = append(sysfs.NodePaths(members[soc.Path]), sysfs.NodePaths(older[soc.Path])...)
		if report, ok := reports[soc.Address]; ok {
			soc.report = &report
		}
	}
	findQaicCards(functions, socs)

	found := backend.Found{Readings: backend.Readings{}}
	found.Degrade(err, nodeErr, olderErr, toolErr)
	for _, soc := range socs {
		device := soc.device(h.Files)
		found.Devices = append(found.Devices, device)
		if soc.report != nil {
			found.Readings[device.ID] = soc.report.reading(soc.card == nil)
		}
	}
	return found, nil
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
