package nodeagent

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

var (
	earlier = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	later   = metav1.NewTime(time.Date(2026, 1, 2, 4, 5, 6, 0, time.UTC))
)

// h100 is the i-th GPU of a node, read completely.
func h100(i int, change ...func(*v1alpha1.Device)) v1alpha1.Device {
	address := fmt.Sprintf("0000:%02x:00.0", 0x10+i)
	d := v1alpha1.Device{
		ID: v1alpha1.DeviceID("nvidia-" + address), Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Backend: "nvidia",
		Product: "NVIDIA H100 80GB HBM3", Architecture: "Hopper", ComputeCapability: "9.0",
		UUID: fmt.Sprintf("GPU-%08d", i), Driver: "nvidia", DriverVersion: "570.86.15",
		PCI:    &v1alpha1.PCIDevice{Address: address, VendorID: "10de", DeviceID: "2330"},
		Memory: &v1alpha1.DeviceMemory{TotalMiB: 81559, Source: v1alpha1.SourceDriver},
		Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
	}
	for _, f := range change {
		f(&d)
	}
	return d
}

func since(t metav1.Time) func(*v1alpha1.Device) {
	return func(d *v1alpha1.Device) { d.Health.Since = &t }
}

func usedByOthers(mib int64) func(*v1alpha1.Device) {
	return func(d *v1alpha1.Device) { d.Memory.UsedByOthersMiB = mib }
}

// mi300x is the i-th accelerator of a node.
func mi300x(i int) v1alpha1.Device {
	address := fmt.Sprintf("0000:%02x:00.0", 0x80+i)
	return v1alpha1.Device{
		ID: v1alpha1.DeviceID("amd-" + address), Vendor: "amd", Family: v1alpha1.FamilyGPU, Backend: "amd",
		Product: "AMD Instinct MI300X", Architecture: "gfx942", Driver: "amdgpu", DriverVersion: "6.10.5",
		PCI:    &v1alpha1.PCIDevice{Address: address, VendorID: "1002", DeviceID: "74a1"},
		Memory: &v1alpha1.DeviceMemory{TotalMiB: 196592, Source: v1alpha1.SourceKernel},
		Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
	}
}

func nvSwitch(devices ...v1alpha1.Device) v1alpha1.LinkDomain {
	return v1alpha1.LinkDomain{
		Name: "nvswitch-0", Kind: "NVLink", Topology: v1alpha1.TopologySwitch, Members: ids(devices),
		DeviceMBps: 450000, PeerMBps: 450000,
	}
}

func ids(devices []v1alpha1.Device) []v1alpha1.DeviceID {
	var out []v1alpha1.DeviceID
	for _, d := range devices {
		out = append(out, d.ID)
	}
	return out
}

func backendIs(name string, state v1alpha1.BackendState) v1alpha1.BackendStatus {
	b := v1alpha1.BackendStatus{Name: name, State: state}
	if state == v1alpha1.BackendFailed {
		b.Message = name + " is broken: mend it"
	}
	return b
}

func status(backends []v1alpha1.BackendStatus, devices ...v1alpha1.Device) v1alpha1.AcceleratorInventoryStatus {
	return v1alpha1.AcceleratorInventoryStatus{Backends: backends, Devices: devices}
}

func backends(b ...v1alpha1.BackendStatus) []v1alpha1.BackendStatus { return b }
