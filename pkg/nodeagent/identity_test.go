package nodeagent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// barely is what is left of a GPU's facts when its tool hangs: PCI ids and what the catalogue says of them.
func barely() v1alpha1.Device {
	return h100(0, func(d *v1alpha1.Device) {
		d.Product, d.UUID, d.ComputeCapability = "H100 SXM5 80GB", "GPU-????????-????", ""
		d.DriverVersion = ""
		d.Memory = &v1alpha1.DeviceMemory{TotalMiB: 81920, Source: v1alpha1.SourceCatalogue}
	})
}

func TestIdentitySurvivesAPartialReading(t *testing.T) {
	found, degraded := backendIs("nvidia", v1alpha1.BackendFound), backendIs("nvidia", v1alpha1.BackendDegraded)
	withoutDriver := h100(0, since(earlier), func(d *v1alpha1.Device) { d.DriverVersion = "" })
	other := barely()
	other.PCI.DeviceID = "26b9"
	renamed := h100(0, func(d *v1alpha1.Device) { d.Product = "NVIDIA H100 80GB HBM3e" })
	tests := []struct {
		name     string
		before   v1alpha1.Device
		backend  v1alpha1.BackendStatus
		detected v1alpha1.Device
		want     v1alpha1.Device
	}{
		{"product, memory and UUID stay, the driver does not", h100(0, since(earlier)), degraded, barely(), withoutDriver},
		{"a complete reading is believed", h100(0, since(earlier)), found, barely(), withSince(barely())},
		{"another card in the slot is another device", h100(0, since(earlier)), degraded, other, withSince(other)},
		{"as good a reading is believed", h100(0, since(earlier)), degraded, renamed, withSince(renamed)},
		{"a better reading is believed", withSince(barely()), degraded, h100(0), h100(0, since(earlier))},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := mergedAt(status(backends(tc.backend), tc.before), status(backends(tc.backend), tc.detected), later)
			if diff := cmp.Diff([]v1alpha1.Device{tc.want}, got.Devices); diff != "" {
				t.Errorf("device differs (-want +got):\n%s", diff)
			}
		})
	}
}

func withSince(d v1alpha1.Device) v1alpha1.Device {
	since(earlier)(&d)
	return d
}

func TestSameHardware(t *testing.T) {
	change := func(f func(*v1alpha1.Device)) v1alpha1.Device { return h100(0, f) }
	tests := []struct {
		name  string
		after v1alpha1.Device
		want  bool
	}{
		{"nothing changed", h100(0), true},
		{"UUID not read", change(func(d *v1alpha1.Device) { d.UUID = "" }), true},
		{"UUID masked", change(func(d *v1alpha1.Device) { d.UUID = "GPU-????????" }), true},
		{"another UUID", change(func(d *v1alpha1.Device) { d.UUID = "GPU-99999999" }), false},
		{"another product id", change(func(d *v1alpha1.Device) { d.PCI = &v1alpha1.PCIDevice{VendorID: "10de", DeviceID: "26b9"} }), false},
		{"no longer on PCI", change(func(d *v1alpha1.Device) { d.PCI = nil }), false},
		{"partitioned", change(func(d *v1alpha1.Device) { d.Partition = &v1alpha1.DevicePartition{Kind: "MIG"} }), false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			before := h100(0)
			if got := sameHardware(&before, &tc.after); got != tc.want {
				t.Errorf("sameHardware = %v, want %v", got, tc.want)
			}
		})
	}
}
