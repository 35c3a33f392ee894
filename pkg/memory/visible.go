package memory

import "github.com/rankwright/rankwright/pkg/engine"

// driverShare and driverLeast bound what NVIDIA's driver keeps of the memory that it reports: a 128th, at least 450 MiB.
// Sources: nvidia-smi -q against cudaMemGetInfo in published logs, in MiB: H100 80GB 454 to 551 of 81559, A100 40GB 625
// of 40960, A100 80GB 768 to 881 of 81920, L4 434 of 23034, T4 453 of 15360, RTX 5090 484 of 32607.
const (
	driverShare = 128
	driverLeast = 450 * mib
)

// visible returns the total memory that a process sees.
func (d Device) visible() int64 {
	if d.VisibleBytes > 0 {
		return d.VisibleBytes
	}
	return max(0, d.TotalBytes-d.driver())
}

// lent is what Apple's GPUs may use of the memory that they share with the processor, in percent: what Metal recommends as a working set
// (MTLDevice.recommendedMaxWorkingSetSize), about three quarters of it.
const lent = 75

func (d Device) driver() int64 {
	switch {
	case d.VisibleBytes > 0:
		return 0
	case d.Vendor == "apple":
		return d.TotalBytes - d.TotalBytes/100*lent
	case d.Vendor != "nvidia":
		return 0
	}
	return max(driverLeast, d.TotalBytes/driverShare)
}

// values returns the device in the form that engines are asked about.
func (d Device) values() engine.Device {
	return engine.Device{Vendor: d.Vendor, Product: d.Product, Bytes: d.visible()}
}
