package inventory

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
)

// device is a healthy device of a product that the catalogue need not have.
func device(id v1alpha1.DeviceID, family v1alpha1.DeviceFamily, product string, memoryMiB int64) v1alpha1.Device {
	return v1alpha1.Device{
		ID: id, Vendor: id.Vendor(), Family: family, Product: product,
		Memory: &v1alpha1.DeviceMemory{TotalMiB: memoryMiB},
		Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
	}
}

func numa(n int32) *int32 { return &n }

// mixed is a host with two H100 of which one is broken, a T4 that somebody uses, a Gaudi, two cores of one TPU chip, an
// NPU of which nothing is known, and the host's own processor.
func mixed() v1alpha1.AcceleratorInventory {
	h0 := device("nvidia-0000:01:00.0", v1alpha1.FamilyGPU, "NVIDIA H100 80GB HBM3", 81559)
	h0.ComputeCapability, h0.NUMANode, h0.Backend = "9.0", numa(0), "nvidia"
	h0.Performance = &v1alpha1.DevicePerformance{
		MemoryBandwidthMBps: 3_350_000,
		Peak:                []v1alpha1.PeakRate{{Precision: v1alpha1.BF16, GFLOPS: 989_000}, {Precision: v1alpha1.FP8, GFLOPS: 1_979_000}},
	}
	h1 := *h0.DeepCopy()
	h1.ID, h1.NUMANode = "nvidia-0000:02:00.0", numa(1)
	h1.Health = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "Xid79"}
	t4 := device("nvidia-0000:03:00.0", v1alpha1.FamilyGPU, "Tesla T4", 15360)
	t4.ComputeCapability, t4.Backend, t4.Memory.UsedByOthersMiB = "7.5", "nvidia", 5120
	t4.Performance = &v1alpha1.DevicePerformance{
		MemoryBandwidthMBps: 320_000, Peak: []v1alpha1.PeakRate{{Precision: v1alpha1.FP16, GFLOPS: 65_000}},
	}
	gaudi := device("intel-0000:04:00.0", v1alpha1.FamilyASIC, "Gaudi2", 98304)
	gaudi.Backend = "gaudi"
	c0 := device("google-0000:05:00.0-0", v1alpha1.FamilyTPU, "TPU v3", 16384)
	c0.Partition = &v1alpha1.DevicePartition{Kind: "core", Parent: "google-0000:05:00.0"}
	c1 := *c0.DeepCopy()
	c1.ID, c1.Partition.Index = "google-0000:05:00.0-1", 1
	npu := v1alpha1.Device{
		ID: "intel-0000:00:0b.0", Vendor: "intel", Family: v1alpha1.FamilyNPU,
		Health: v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: "DriverMissing"},
	}
	cpu := v1alpha1.Device{ID: "amd-cpu0", Vendor: "amd", Family: v1alpha1.FamilyCPU, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy}}
	inventory := v1alpha1.AcceleratorInventory{Status: v1alpha1.AcceleratorInventoryStatus{
		Devices: []v1alpha1.Device{cpu, c0, c1, npu, gaudi, h0, h1, t4},
		Links: v1alpha1.Links{
			Domains: []v1alpha1.LinkDomain{{
				Name: "x", Kind: "XGMI", Topology: v1alpha1.TopologyMesh, DeviceMBps: 200, PeerMBps: 100,
				Members: []v1alpha1.DeviceID{h0.ID, h1.ID, t4.ID},
			}},
			Pairs: []v1alpha1.LinkPair{{A: c0.ID, B: c1.ID, Kind: "ICI", Count: 1}},
		},
		Allocations: []v1alpha1.Allocation{{Device: t4.ID, Namespace: "default", Pod: "a"}},
	}}
	inventory.Status.Summary = Summarize(inventory.Spec, &inventory.Status)
	return inventory
}

// short are the ids of devices without their vendors' PCI domain.
func short(devices []v1alpha1.Device) []string {
	names := []string{}
	for i := range devices {
		names = append(names, shortNames[devices[i].ID])
	}
	return names
}

var shortNames = map[v1alpha1.DeviceID]string{
	"amd-cpu0": "cpu", "google-0000:05:00.0-0": "core0", "google-0000:05:00.0-1": "core1", "intel-0000:00:0b.0": "npu",
	"intel-0000:04:00.0": "gaudi", "nvidia-0000:01:00.0": "h0", "nvidia-0000:02:00.0": "h1", "nvidia-0000:03:00.0": "t4",
}
