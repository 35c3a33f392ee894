package backend

import (
	"context"

	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// NewOnPCI is a backend of the devices that are PCI functions. match picks the functions; those of an SR-IOV host's guests are left
// out. list adds to what is found the devices that the functions are; it is called where there is one at least.
func NewOnPCI(kind Kind, match func(pci.Function) bool, list func(context.Context, *host.Host, []pci.Function, *Found)) Backend {
	return New(kind.Backend, func(ctx context.Context, h *host.Host) (Found, error) {
		functions, err := pci.Matching(h, match)
		if len(functions) == 0 {
			return Found{}, err
		}
		found := Found{}
		found.Degrade(err)
		list(ctx, h, functions, &found)
		return found, nil
	})
}

// ByVendor matches the PCI functions of a vendor by its id.
func ByVendor(id string) func(pci.Function) bool {
	return func(function pci.Function) bool { return function.VendorID == id }
}
