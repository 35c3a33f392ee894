package intel

import (
	"context"
	"slices"
	"strconv"
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
func Gaudi() backend.Backend { return backend.New(gaudiName, detectGaudi) }

const (
	gaudiName   = "gaudi"
	gaudiDriver = "habanalabs"
	habanaLabs  = "1da3"
)

func detectGaudi(ctx context.Context, h *host.Host) (backend.Found, error) {
	functions, err := pci.Matching(h, func(f pci.Function) bool { return f.VendorID == habanaLabs })
	if len(functions) == 0 {
		return backend.Found{}, err
	}
	members, memberErr := gaudiMembers(h.Files)
	answers, toolErr := askGaudi(ctx, h, functions)
	found := backend.Found{Readings: backend.Readings{}}
	found.Degrade(err, memberErr, toolErr)
	var cards []gaudiCard
	for _, function := range functions {
		card := readGaudiCard(h.Files, function, members[function.Address])
		if answer, ok := answers[function.Address]; ok {
			card.smi, card.answered = answer, true
		}
		cards = append(cards, card)
		device := card.device(h.Files)
		found.Devices = append(found.Devices, device)
		if card.answered {
			found.Readings[device.ID] = card.smi.reading
		}
	}
	found.Links = gaudiLinks(cards)
	return found, nil
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

var gaudiKind = backend.Kind{Backend: gaudiName, Vendor: "intel", Family: v1alpha1.FamilyASIC}

// hlColumns is the number of values in a line, in the order of the columns of host.GaudiQuery. Source: Intel Gaudi documentation,
// System Management Interface Tool.
const hlColumns = 9

// hlDevice is what hl-smi says of a card; what it does not know is empty.
type hlDevice struct {
	module, uuid, name string
	totalMiB, usedMiB  int64
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
			cells[i] = hlValue(cells[i])
		}
		address := strings.ToLower(cells[0])
		if !pci.IsAddress(address) {
			continue
		}
		device := hlDevice{module: host.Clip(cells[1], 16), uuid: host.Clip(cells[2], 128), name: host.Clip(cells[3], 256)}
		used := hlNumber(cells[5], 1, backend.MaxMemoryMiB)
		if total := hlNumber(cells[4], 1, backend.MaxMemoryMiB); total != nil {
			device.totalMiB = *total
			if used != nil {
				device.usedMiB = min(*used, *total)
			}
		}
		device.reading = backend.Reading{
			MemoryUsedMiB:      used,
			TemperatureMilliC:  hlNumber(cells[6], 1000, maxMilliC),
			PowerMilliW:        hlNumber(cells[7], 1000, maxMilliW),
			UtilizationPercent: hlNumber(cells[8], 1, 100),
		}
		devices[address] = device
	}
	return devices
}

// maxMilliW is above what any card draws.
const maxMilliW = 10_000_000

func hlValue(cell string) string {
	cell = strings.TrimSpace(cell)
	if strings.Trim(strings.ToUpper(cell), "[]") == "N/A" {
		return ""
	}
	return cell
}

// hlNumber reads a number and scales it; nil where it is none or out of range.
func hlNumber(cell string, scale float64, highest int64) *int64 {
	number, err := strconv.ParseFloat(cell, 64)
	if err != nil || !(number >= 0 && number*scale <= float64(highest)) {
		return nil
	}
	value := int64(number * scale)
	return &value
}
