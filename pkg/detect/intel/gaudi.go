package intel

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// Gaudi finds Intel's Gaudi accelerators by their PCI vendor, Habana Labs, with the files and nodes of the driver
// habanalabs: in the kernel's accel class, or with older drivers in a class of their own. The driver tells status, module
// and firmware. How much memory there is and how it is used, names, UUIDs and sensors come from hl-smi, matched by PCI
// address; without it memory is nominal.
//
// Eight cards of one baseboard, each in a module of its own, are joined by RoCE, three ports between each two. Of fewer
// cards, as in most virtual machines, and of cards in PCIe slots nothing is said: their cables are not visible.
func Gaudi() backend.Backend {
	return backend.NewOnPCI(gaudiKind, backend.ByVendor(habanaLabs), listGaudi)
}

const (
	gaudiDriver = "habanalabs"
	habanaLabs  = "1da3"
)

var gaudiKind = backend.Kind{Backend: "gaudi", Vendor: "intel", Family: v1alpha1.FamilyASIC}

func listGaudi(ctx context.Context, h *host.Host, functions []pci.Function, found *backend.Found) {
	members, memberErr := gaudiMembers(h.Files)
	answers, toolErr := askGaudi(ctx, h, functions)
	found.Degrade(memberErr, toolErr)
	cards := make([]gaudiCard, len(functions))
	for i, function := range functions {
		cards[i] = readGaudiCard(h.Files, function, members[function.Address])
		cards[i].smi = answers[function.Address]
		found.Add(cards[i].device(h.Files), cards[i].smi.reading, backend.Signs{})
	}
	found.Links = gaudiLinks(cards)
}

// askGaudi asks hl-smi, where there is a driver to answer it.
func askGaudi(ctx context.Context, h *host.Host, functions []pci.Function) (map[string]hlDevice, error) {
	if !slices.ContainsFunc(functions, func(f pci.Function) bool { return f.Driver == gaudiDriver }) {
		return nil, nil
	}
	printed, err := host.Query(ctx, h, "", host.GaudiQuery...)
	if err != nil {
		return nil, err
	}
	return parseHLSMI(string(printed.Stdout)), nil
}

// hlColumns is the number of values in a line, in the order of the columns of host.GaudiQuery. Source: Intel Gaudi documentation,
// System Management Interface Tool.
const hlColumns = 9

// hlDevice is what hl-smi says of a card; what it does not know is empty.
type hlDevice struct {
	module, uuid, name string
	totalMiB           int64
	reading            backend.Reading
}

// parseHLSMI reads the lines, by PCI address. Lines that are no such line are left out: hl-smi prints warnings between
// them.
func parseHLSMI(text string) map[string]hlDevice {
	devices := map[string]hlDevice{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, ",")
		if len(cells) != hlColumns || len(devices) >= backend.MaxDevices {
			continue
		}
		for i := range cells {
			cells[i] = intelValue(cells[i])
		}
		address := strings.ToLower(cells[0])
		if !pci.IsAddress(address) {
			continue
		}
		used, total := backend.ParseNumber(cells[5], 1, backend.MaxMemoryMiB), backend.ParseNumber(cells[4], 1, backend.MaxMemoryMiB)
		devices[address] = hlDevice{
			module: cells[1], uuid: cells[2], name: cells[3], totalMiB: *cmp.Or(total, new(int64)), reading: backend.Reading{
				MemoryUsedMiB:      used,
				TemperatureMilliC:  backend.ParseNumber(cells[6], 1000, maxMilliC),
				PowerMilliW:        backend.ParseNumber(cells[7], 1000, maxMilliW),
				UtilizationPercent: backend.ParseNumber(cells[8], 1, 100),
			},
		}
	}
	return devices
}

// maxMilliW is above what any card draws.
const maxMilliW = 10_000_000
