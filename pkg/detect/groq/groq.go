// Package groq finds GroqCards.
package groq

import (
	"context"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// Card finds every GroqCard by its PCI id, and its nodes below the function in sysfs. It runs no command. Memory is the
// chip's SRAM, which is nominal. Written from documentation only.
//
// Sources: pci.ids; groq/groqflow, which counts cards by the same id; users' notes name nodes /dev/groqA0.pci.
func Card() backend.Backend { return backend.New("groq", detect) }

const groqVendorID = "1de0"

var groqKind = backend.Kind{Backend: "groq", Vendor: "groq", Family: v1alpha1.FamilyASIC}

func detect(_ context.Context, h *host.Host) (backend.Found, error) {
	cards, err := pci.Matching(h, func(f pci.Function) bool { return f.VendorID == groqVendorID })
	found := backend.Found{}
	problems := []error{err}
	for _, function := range cards {
		device, _, _ := groqKind.Device(h.Files, function, "")
		nodes, err := sysfs.OwnNodes(h.Files, function.Path)
		problems = append(problems, err)
		device.Paths = nodes
		device.Health = backend.DriverHealth(function.Driver, nodes, "load Groq's driver (groq-driver)")
		found.Devices = append(found.Devices, device)
	}
	if len(found.Devices) == 0 {
		return backend.Found{}, err
	}
	found.Degrade(problems...)
	return found, nil
}
