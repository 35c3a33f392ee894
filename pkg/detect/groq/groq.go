// Package groq finds GroqCards.
package groq

import (
	"context"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// Card finds every GroqCard by its PCI id, and its nodes below the function in sysfs. It runs no command. Memory is the
// chip's SRAM, which is nominal. Written from documentation only.
//
// Sources: pci.ids; groq/groqflow, which counts cards by the same id; users' notes name nodes /dev/groqA0.pci.
func Card() backend.Backend {
	return backend.NewOnPCI(groqKind, backend.ByVendor("1de0"), list)
}

var groqKind = backend.Kind{Backend: "groq", Vendor: "groq", Family: v1alpha1.FamilyASIC}

func list(_ context.Context, h *host.Host, cards []pci.Function, found *backend.Found) {
	for _, function := range cards {
		device, err := groqKind.DeviceWithOwnNodes(h.Files, function, "", "load Groq's driver (groq-driver)")
		found.Devices = append(found.Devices, device)
		found.Degrade(err)
	}
}
