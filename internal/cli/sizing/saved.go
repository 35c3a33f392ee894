package sizing

import (
	"github.com/rankwright/rankwright/internal/cli/host"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/estimate"
)

// found sets the devices to those of a saved inventory. Flags beside it count more than what it says of nodes and of the network.
func (f *deploymentFlags) found(d *estimate.Deployment, streams term.Streams) error {
	if f.device.byHand() {
		return term.Usagef("-f gives the devices: give no --memory, --bandwidth and --tflops beside it")
	}
	inventory, err := host.Saved(f.file, streams)
	if err != nil {
		return err
	}
	of, err := estimate.HostOf(inventory, f.device.name)
	if err != nil {
		return err
	}
	d.Product = of.Product
	if f.perNode == 0 {
		d.DevicesPerNode = of.Devices
	}
	if !f.changed("network-gbps") && of.NetworkGbps > 0 {
		d.NetworkGbps = of.NetworkGbps
	}
	return nil
}
