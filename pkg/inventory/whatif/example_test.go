package whatif_test

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/inventory/whatif"
)

// Eight devices that a switch connects, on a host that has none.
func ExampleAdd() {
	edited, err := whatif.Add(v1alpha1.AcceleratorInventory{}, "NVIDIA H100 80GB HBM3", 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	domain := edited.Status.Links.Domains[0]
	fmt.Println(len(edited.Status.Devices), "devices, linked by", domain.Kind, "at", domain.DeviceMBps/1000, "GB/s")
	// Output: 8 devices, linked by NVLink at 450 GB/s
}
