package synthetic

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
)

// product is a device as detection reports it; its rates come from the catalogue of products.
type product struct {
	vendor, backend, driver     string
	name, architecture          string
	vendorID, deviceID          string
	family                      v1alpha1.DeviceFamily
	memoryMiB                   int64
	memorySource                v1alpha1.FactSource
	computeCapability, resource string
}

// Memory is what the drivers report, as in the recordings of test/recordings and the notes of the catalogue.
var (
	t4      = nvidia("Tesla T4", "Turing", "7.5", "1eb8", 15360)
	a100x40 = nvidia("NVIDIA A100-SXM4-40GB", "Ampere", "8.0", "20b0", 40960)
	a100x80 = nvidia("NVIDIA A100-SXM4-80GB", "Ampere", "8.0", "20b2", 81920)
	l40s    = nvidia("NVIDIA L40S", "Ada", "8.9", "26b9", 46068)
	h100    = nvidia("NVIDIA H100 80GB HBM3", "Hopper", "9.0", "2330", 81559)
	h200    = nvidia("NVIDIA H200", "Hopper", "9.0", "2335", 143771)
	b200    = nvidia("NVIDIA B200", "Blackwell", "10.0", "2901", 183359)
	gb200   = nvidia("NVIDIA GB200", "Blackwell", "10.0", "2941", 189471)

	mi300x = product{
		vendor: "amd", backend: "amd", driver: "amdgpu", name: "AMD Instinct MI300X OAM", architecture: "CDNA3", family: v1alpha1.FamilyGPU,
		vendorID: "1002", deviceID: "74a1", memoryMiB: 196592, memorySource: v1alpha1.SourceKernel, resource: "amd.com/gpu",
	}
	gaudi3 = product{
		vendor: "intel", backend: "gaudi", driver: "habanalabs", name: "HL-325L (Gaudi3 OAM)", architecture: "Gaudi3", family: v1alpha1.FamilyASIC,
		vendorID: "1da3", deviceID: "1060", memoryMiB: 131072, memorySource: v1alpha1.SourceDriver, resource: "habana.ai/gaudi",
	}
	v5e = product{
		vendor: "google", backend: "tpu", driver: "vfio-pci", name: "TPU v5e (v5 lite)", architecture: "v5e", family: v1alpha1.FamilyTPU,
		vendorID: "1ae0", deviceID: "0063", memoryMiB: 16384, memorySource: v1alpha1.SourceCatalogue, resource: "google.com/tpu",
	}
)

func nvidia(name, architecture, capability, deviceID string, memoryMiB int64) product {
	return product{
		vendor: "nvidia", backend: "nvidia", driver: "nvidia", name: name, architecture: architecture, family: v1alpha1.FamilyGPU,
		vendorID: "10de", deviceID: deviceID, memoryMiB: memoryMiB, memorySource: v1alpha1.SourceDriver,
		computeCapability: capability, resource: "nvidia.com/gpu",
	}
}

// facts returns the product's row in the catalogue of products; false where there is none, which a test excludes.
func (p *product) facts() (accelerator.Product, bool) {
	return accelerator.Lookup(accelerator.Key{VendorID: p.vendorID, DeviceID: p.deviceID, Product: p.name, MemoryMiB: p.memoryMiB})
}
