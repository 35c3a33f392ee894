package pci

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

const h100Uevent = "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2330\nPCI_SUBSYS_ID=10DE:16C1\nPCI_SLOT_NAME=0000:17:00.0\n" +
	"MODALIAS=pci:v000010DEd00002330sv000010DEsd000016C1bc03sc02i00\n"

// functionOf is the function whose folder has a uevent alone; false where its ids cannot be read.
func functionOf(t *testing.T, uevent string) (Function, bool) {
	t.Helper()
	s := compose.NewTree(t)
	s.Function("pci0000:15/0000:15:01.0/0000:17:00.0", "", compose.Attributes{"uevent": uevent})
	functions, err := Functions(s.Host())
	if err != nil || len(functions) > 1 {
		t.Fatalf("%d functions, %v", len(functions), err)
	}
	if len(functions) == 0 {
		return Function{}, false
	}
	return functions[0], true
}

func TestPCIUevent(t *testing.T) {
	h100 := Function{Class: "030200", Driver: "nvidia", PCIDevice: v1alpha1.PCIDevice{
		VendorID: "10de", DeviceID: "2330", SubsystemVendorID: "10de", SubsystemDeviceID: "16c1",
	}}
	unbound, partner := h100, h100
	unbound.Driver = ""
	partner.SubsystemVendorID, partner.SubsystemDeviceID = "", ""
	for name, test := range map[string]struct {
		text string
		want Function
		ok   bool
	}{
		"as the kernel writes it":  {h100Uevent, h100, true},
		"no driver":                {strings.TrimPrefix(h100Uevent, "DRIVER=nvidia\n"), unbound, true},
		"no class":                 {strings.Replace(h100Uevent, "PCI_CLASS", "CLASS", 1), Function{}, false},
		"no ids":                   {strings.Replace(h100Uevent, "PCI_ID", "ID", 1), Function{}, false},
		"no subsystem":             {strings.Replace(h100Uevent, "PCI_SUBSYS_ID", "SUBSYS", 1), partner, true},
		"a class of too many bits": {strings.Replace(h100Uevent, "30200", "1030200", 1), Function{}, false},
		"an id of too many bits":   {strings.Replace(h100Uevent, "10DE:2330", "10DE:12330", 1), Function{}, false},
		"half an id":               {strings.Replace(h100Uevent, "10DE:2330", "10DE", 1), Function{}, false},
		"no number":                {strings.Replace(h100Uevent, "10DE:2330", "10DE:233G", 1), Function{}, false},
		"empty":                    {"", Function{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := functionOf(t, test.text)
			got.Path, got.Address, got.Root, got.Bridges = "", "", "", nil
			if diff := cmp.Diff(test.want, got); diff != "" || ok != test.ok {
				t.Errorf("ok %v, want %v\n%s", ok, test.ok, diff)
			}
		})
	}
}

// A function reads alike from the one file and from a file for each fact, which has what the one does not.
func TestPCIUeventIsAsTheFilesAre(t *testing.T) {
	files := compose.Attributes{
		"class": "0x030200", "vendor": "0x10de", "device": "0x2330", "subsystem_vendor": "0x10de", "subsystem_device": "0x16c1",
		"revision": "0xa1", "numa_node": "1", "max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16",
	}
	beside := compose.Attributes{"revision": "0xa1", "numa_node": "1", "max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16"}
	var want []Function
	for name, all := range map[string][]compose.Attributes{
		"files":                       {files},
		"uevent":                      {beside, {"uevent": h100Uevent}},
		"both":                        {files, {"uevent": h100Uevent}},
		"files and a cut uevent":      {files, {"uevent": h100Uevent[:40]}},
		"files and a uevent of noise": {files, {"uevent": "\x00\xff=\n=PCI_ID\n"}},
	} {
		s := compose.NewTree(t)
		s.Function("pci0000:15/0000:15:01.0/0000:17:00.0", "nvidia", all...)
		functions, err := Functions(s.Host())
		if err != nil || len(functions) != 1 {
			t.Fatalf("%s: %d functions, %v", name, len(functions), err)
		}
		if want == nil {
			want = functions
		}
		if diff := cmp.Diff(want, functions); diff != "" {
			t.Errorf("%s differs:\n%s", name, diff)
		}
	}
	if want[0].DeviceID != "2330" || want[0].Driver != "nvidia" || want[0].Class != "030200" {
		t.Errorf("got %+v", want[0])
	}
}

// Of what only connects others no driver and no subsystem is known, whichever file is read.
func TestPCIUeventOfABridge(t *testing.T) {
	s := compose.NewTree(t)
	s.Function("pci0000:15/0000:15:01.0", "pcieport", compose.Attributes{
		"uevent": "DRIVER=pcieport\nPCI_CLASS=60400\nPCI_ID=8086:352A\nPCI_SUBSYS_ID=8086:0000\nPCI_SLOT_NAME=0000:15:01.0\n",
	})
	functions, err := Functions(s.Host())
	want := []Function{{
		PCIDevice: v1alpha1.PCIDevice{Address: "0000:15:01.0", VendorID: "8086", DeviceID: "352a", Root: "pci0000:15"},
		Class:     "060400", Path: "/sys/devices/pci0000:15/0000:15:01.0",
	}}
	if diff := cmp.Diff(want, functions); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func FuzzParsePCIUevent(f *testing.F) {
	f.Add(h100Uevent)
	f.Add("PCI_CLASS=60400\nPCI_ID=8086:352A\nPCI_SUBSYS_ID=0000:0000\nPCI_SLOT_NAME=0000:17:00.0\n")
	f.Add("PCI_CLASS=-1\nPCI_ID=:\nPCI_SUBSYS_ID=FFFFF:1\nPCI_SLOT_NAME=0000:17:00.0\n")
	f.Fuzz(func(t *testing.T, text string) {
		function, ok := functionOf(t, text)
		if !ok {
			return
		}
		subsystem := len(function.SubsystemVendorID + function.SubsystemDeviceID)
		if len(function.Class) != 6 || len(function.VendorID+function.DeviceID) != 8 || subsystem%4 != 0 || len(function.Driver) > 64 {
			t.Errorf("%+v", function)
		}
		if upper := strings.ToUpper(text); !strings.Contains(upper, strings.ToUpper(strings.TrimLeft(function.DeviceID, "0"))) {
			t.Errorf("%q is not in the text", function.DeviceID)
		}
	})
}
