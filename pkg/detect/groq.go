package detect

import (
	"context"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Groq finds every GroqCard by its PCI id, and its nodes below the function in sysfs. It runs no command. Memory is the
// chip's SRAM, which is nominal. Written from documentation only.
//
// Sources: pci.ids; groq/groqflow, which counts cards by the same id; users' notes name nodes /dev/groqA0.pci.
func Groq() Backend { return newBackend("groq", detectGroq) }

const groqVendorID = "1de0"

var groqKind = deviceKind{backend: "groq", vendor: "groq", family: v1alpha1.FamilyASIC}

func detectGroq(_ context.Context, h *host.Host) (Found, error) {
	functions, err := pciFunctions(h)
	found := Found{}
	problems := []error{err}
	for _, function := range functions {
		if function.VendorID != groqVendorID || isVirtualFunction(h.Files, function) {
			continue
		}
		device, _, _ := groqKind.device(h.Files, function, "")
		nodes, err := ownNodes(h.Files, function.Path)
		problems = append(problems, err)
		device.Paths = nodes
		device.Health = driverHealth(function.Driver, nodes, "load Groq's driver (groq-driver)")
		found.Devices = append(found.Devices, device)
	}
	if len(found.Devices) == 0 {
		return Found{}, err
	}
	found.degrade(problems...)
	return found, nil
}
