package fleet

import "github.com/rankwright/rankwright/api/v1alpha1"

// Read rates of disks whose link does not say: SATA's 6 Gbit/s in 8b/10b code, which SAS disks exceed, and the 285 MB/s
// of the fastest hard disks (data sheets of 2024). Nothing is assumed of disks of an unknown kind.
const (
	sataRate = 600e6
	diskRate = 285e6
)

// pciePayload is the share of a PCIe link's bits that is data: 128b/130b code, less the headers of packets of 256 bytes.
const pciePayload = 128.0 / 130 * 256 / (256 + 24)

// storageRate returns what a node can read from the fastest of its disks, in bytes per second: from an NVMe disk as fast
// as its PCIe link, which few disks fill, from others as fast as their kind. It is 0 where no disk is known well enough.
func storageRate(disks []v1alpha1.StorageDevice) float64 { return fastest(disks, diskRateOf) }

// fastest returns the highest of some rates; 0 where there is none.
func fastest[T any](list []T, rateOf func(*T) float64) float64 {
	most := 0.0
	for i := range list {
		most = max(most, rateOf(&list[i]))
	}
	return most
}

func diskRateOf(d *v1alpha1.StorageDevice) float64 {
	switch d.Kind {
	case "NVMe":
		if d.PCI == nil {
			return 0
		}
		return float64(d.PCI.LinkMTps) * 1e6 * float64(d.PCI.LinkWidth) / 8 * pciePayload
	case "SSD":
		return sataRate
	case "HDD":
		return diskRate
	default:
		return 0
	}
}

// networkRate returns the most that a node receives by the fastest of its ports that are up, in bytes per second: one
// stream of weights takes one port. It is 0 where no port is up.
func networkRate(ports []v1alpha1.NIC) float64 {
	return fastest(ports, func(port *v1alpha1.NIC) float64 {
		if !port.Up {
			return 0
		}
		return float64(port.Gbps) * 1e9 / 8
	})
}
