package detect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

func accelerator1200(vendor, device string) compose.Attributes {
	return compose.Attributes{"vendor": "0x" + vendor, "device": "0x" + device, "class": "0x120000"}
}

// What no backend knows is listed by its vendor's name, with nothing claimed of it, and nobody may use it.
func TestUnknownAccelerators(t *testing.T) {
	type listed struct {
		id      v1alpha1.DeviceID
		vendor  string
		family  v1alpha1.DeviceFamily
		product string
	}
	for name, test := range map[string]struct {
		files compose.Attributes
		want  []listed
	}{
		"Cambricon": {accelerator1200("cabc", "0370"), []listed{{"cambricon-0000:03:00.0", "cambricon", v1alpha1.FamilyASIC, "Cambricon accelerator cabc:0370"}}},
		"MetaX":     {accelerator1200("9999", "4000"), []listed{{"metax-0000:03:00.0", "metax", v1alpha1.FamilyASIC, "MetaX accelerator 9999:4000"}}},
		"a vendor that the table has not": {
			accelerator1200("fffa", "0001"), []listed{{"pci-fffa-0000:03:00.0", "pci-fffa", v1alpha1.FamilyASIC, "accelerator fffa:0001"}},
		},
		"Hygon, which is a display controller": {
			compose.Attributes{"vendor": "0x1d94", "device": "0x6210", "class": "0x038000"},
			[]listed{{"hygon-0000:03:00.0", "hygon", v1alpha1.FamilyGPU, "Hygon accelerator 1d94:6210"}},
		},
		"Coral, which is a system peripheral": {
			compose.Attributes{"vendor": "0x1ac1", "device": "0x089a", "class": "0x0880ff"},
			[]listed{{"coral-0000:03:00.0", "coral", v1alpha1.FamilyASIC, "Coral (Global Unichip) accelerator 1ac1:089a"}},
		},
		"a ZIP engine of Huawei's processors": {accelerator1200("19e5", "a250"), nil},
		"a data mover (SDXI)":                 {compose.Attributes{"vendor": "0x1022", "device": "0x1134", "class": "0x120100"}, nil},
		"a display":                           {compose.Attributes{"vendor": "0x1a03", "device": "0x2000", "class": "0x030000"}, nil},
		"another system peripheral":           {compose.Attributes{"vendor": "0x8086", "device": "0x09a2", "class": "0x088000"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.Function("pci0000:00/0000:00:01.0/0000:03:00.0", "", test.files)
			status := Detect(t.Context(), s.Host(), Options{}).Status
			var got []listed
			for i := range status.Devices {
				d := &status.Devices[i]
				got = append(got, listed{d.ID, d.Vendor, d.Family, d.Product})
				if d.Usable() || d.Memory != nil || d.Performance != nil || d.Health.Reason != "UnknownAccelerator" {
					t.Errorf("got %+v, want nothing claimed and nobody to use it", d)
				}
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(listed{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A function that another backend lists is that one's, and the virtual function of a guest is nobody's on its host.
func TestUnknownAcceleratorsAreOfNoOtherBackend(t *testing.T) {
	s := newTree(t)
	s.Function("pci0000:00/0000:00:01.0/0000:01:00.0", "amdgpu", compose.PCIAttributes("1002", "74a1", "120000"))
	s.Function("pci0000:00/0000:c1:00.0", "devdrv_device_driver", compose.PCIAttributes("19e5", "d802", "120000"))
	whole := s.Function("pci0000:20/0000:21:00.0", "cambricon", accelerator1200("cabc", "0370"))
	s.Link(s.Function("pci0000:20/0000:22:00.0", "cambricon", accelerator1200("cabc", "0370"))+"/physfn", whole)
	status := Detect(t.Context(), s.Host(), Options{}).Status
	got := map[v1alpha1.DeviceID]string{}
	for i := range status.Devices {
		got[status.Devices[i].ID] = status.Devices[i].Backend
	}
	want := map[v1alpha1.DeviceID]string{"amd-0000:01:00.0": "amd", "huawei-0000:c1:00.0": "ascend", "cambricon-0000:21:00.0": "unknown-accelerator"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
