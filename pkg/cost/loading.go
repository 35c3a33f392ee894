package cost

import "github.com/rankwright/rankwright/api/v1alpha1"

// Loading is how the weights of an instance get from where they are stored to its devices. Rates are in bytes per second;
// one that is 0 does not bound.
type Loading struct {
	// NodeBytes is what the busiest node reads once, DeviceBytes what its fullest device gets.
	NodeBytes, DeviceBytes float64
	// Storage is what a node reads from its disk, Network what it receives where the weights come from another node,
	// HostLink what a device gets from its host.
	Storage, Network, HostLink float64
}

// Seconds is the time to load the weights. Reading, receiving and copying overlap, so the slowest counts.
func (l Loading) Seconds() float64 {
	t := 0.0
	for _, way := range [3]struct{ bytes, rate float64 }{
		{l.NodeBytes, l.Storage}, {l.NodeBytes, l.Network}, {l.DeviceBytes, l.HostLink},
	} {
		if way.rate > 0 {
			t = max(t, way.bytes/way.rate)
		}
	}
	return t
}

// What a disk reads where its link does not say: SATA's 6 Gbit/s in 8b/10b code, which disks on SAS exceed, and the fastest
// hard disks' 285 MB/s (data sheets of 2024). Of disks of an unknown kind nothing is assumed.
const (
	sataRate = 600e6
	diskRate = 285e6
)

// pciePayload is the part of a PCIe link's bits that is data: 128b/130b code and the headers of packets of 256 bytes.
const pciePayload = 128.0 / 130 * 256 / (256 + 24)

// StorageRate is what a node can read in bytes per second from the fastest of its disks, as far as the inventory tells: an
// NVMe disk as fast as its PCIe link, which few disks fill, others as fast as their kind. It is 0 where no disk is known
// well enough.
func StorageRate(disks []v1alpha1.StorageDevice) float64 {
	fastest := 0.0
	for i := range disks {
		fastest = max(fastest, diskRateOf(&disks[i]))
	}
	return fastest
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

// NetworkRate is what a node receives at most in bytes per second by the fastest of its ports that are up: one stream of
// weights takes one port. It is 0 where none is.
func NetworkRate(ports []v1alpha1.NIC) float64 {
	fastest := 0.0
	for i := range ports {
		if ports[i].Up {
			fastest = max(fastest, float64(ports[i].Gbps)*1e9/8)
		}
	}
	return fastest
}
