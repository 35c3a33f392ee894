package fleet

import (
	"math"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestStorageRate holds the rates of disks as the inventory describes them: PCIe 4 and 5 with four lanes carry about 7.2
// and 14.4 GB/s.
func TestStorageRate(t *testing.T) {
	nvme := func(transfers int32) v1alpha1.StorageDevice {
		return v1alpha1.StorageDevice{Kind: "NVMe", PCI: &v1alpha1.PCIDevice{LinkMTps: transfers, LinkWidth: 4}}
	}
	for _, test := range []struct {
		name  string
		disks []v1alpha1.StorageDevice
		want  float64
	}{
		{"none", nil, 0},
		{"unknown", []v1alpha1.StorageDevice{{Kind: "Unknown"}}, 0},
		{"NVMe without a link", []v1alpha1.StorageDevice{{Kind: "NVMe"}}, 0},
		{"hard disk", []v1alpha1.StorageDevice{{Kind: "HDD"}}, 285e6},
		{"SSD and hard disk", []v1alpha1.StorageDevice{{Kind: "HDD"}, {Kind: "SSD"}}, 600e6},
		{"PCIe 4", []v1alpha1.StorageDevice{{Kind: "SSD"}, nvme(16000)}, 7.2e9},
		{"PCIe 5", []v1alpha1.StorageDevice{nvme(32000), nvme(16000)}, 14.4e9},
	} {
		if got := storageRate(test.disks); math.Abs(got-test.want) > 0.01*test.want {
			t.Errorf("%s: %g bytes per second, want %g", test.name, got, test.want)
		}
	}
}

func TestNetworkRate(t *testing.T) {
	ports := []v1alpha1.NIC{{Kind: "Ethernet", Gbps: 25, Up: true}, {Kind: "InfiniBand", Gbps: 400}, {Kind: "RoCE", Gbps: 100, Up: true}}
	if got := networkRate(ports); got != 12.5e9 {
		t.Errorf("%g bytes per second, want those of the fastest port that is up, 12.5e9", got)
	}
	if got := networkRate(nil); got != 0 {
		t.Errorf("%g bytes per second of no port", got)
	}
}
