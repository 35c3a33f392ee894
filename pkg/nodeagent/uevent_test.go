package nodeagent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// message joins the lines of a uevent as the kernel does.
func message(lines ...string) []byte { return []byte(strings.Join(lines, "\x00") + "\x00") }

func TestParseUevent(t *testing.T) {
	const gpu = "/devices/pci0000:16/0000:16:01.0/0000:17:00.0"
	tests := []struct {
		name    string
		message []byte
		want    uevent
		ok      bool
		matters bool
	}{
		{
			"a GPU comes",
			message("add@"+gpu, "ACTION=add", "DEVPATH="+gpu, "SUBSYSTEM=pci", "PCI_ID=10DE:2330", "SEQNUM=4711"),
			uevent{action: "add", path: gpu, subsystem: "pci"},
			true,
			true,
		},
		{"a driver is bound", message("bind@"+gpu, "SUBSYSTEM=pci"), uevent{action: "bind", path: gpu, subsystem: "pci"}, true, true},
		{"a GPU goes", message("remove@"+gpu, "SUBSYSTEM=pci"), uevent{action: "remove", path: gpu, subsystem: "pci"}, true, true},
		{"a screen is plugged in", message("change@"+gpu+"/drm/card0", "SUBSYSTEM=drm", "HOTPLUG=1"), uevent{action: "change", path: gpu + "/drm/card0", subsystem: "drm"}, true, false},
		{"a GPU is given up", message("change@"+gpu+"/drm/card0", "SUBSYSTEM=drm", "WEDGED=rebind,bus-reset"), uevent{action: "change", path: gpu + "/drm/card0", subsystem: "drm", wedged: true}, true, true},
		{"a GPU has recovered", message("change@"+gpu+"/drm/card0", "SUBSYSTEM=drm", "WEDGED=none"), uevent{action: "change", path: gpu + "/drm/card0", subsystem: "drm"}, true, false},
		{"a pod's interface", message("add@/devices/virtual/net/veth0", "SUBSYSTEM=net"), uevent{action: "add", path: "/devices/virtual/net/veth0", subsystem: "net"}, true, false},
		{"a port", message("add@"+gpu+"/net/eth0", "SUBSYSTEM=net"), uevent{action: "add", path: gpu + "/net/eth0", subsystem: "net"}, true, true},
		{"a loop device", message("add@/devices/virtual/block/loop0", "SUBSYSTEM=block"), uevent{action: "add", path: "/devices/virtual/block/loop0", subsystem: "block"}, true, false},
		{"a virtual GPU's group", message("add@/devices/virtual/vfio/7", "SUBSYSTEM=vfio"), uevent{action: "add", path: "/devices/virtual/vfio/7", subsystem: "vfio"}, true, true},
		{"a keyboard", message("add@/devices/usb1/input", "SUBSYSTEM=input"), uevent{action: "add", path: "/devices/usb1/input", subsystem: "input"}, true, false},
		{"of udevd", message("libudev", "\xfe\xed\xca\xfe", "ACTION=add", "SUBSYSTEM=pci"), uevent{}, false, false},
		{"without a subsystem", message("add@" + gpu), uevent{action: "add", path: gpu}, false, false},
		{"cut off", []byte("add@" + gpu), uevent{}, false, false},
		{"no action", message("@"+gpu, "SUBSYSTEM=pci"), uevent{}, false, false},
		{"no path", message("add@", "SUBSYSTEM=pci"), uevent{}, false, false},
		{"nothing", nil, uevent{}, false, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := parseUevent(tc.message)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(uevent{})); diff != "" || ok != tc.ok {
				t.Errorf("parsed: %t\n%s", ok, diff)
			}
			if matters := ok && got.matters(); matters != tc.matters {
				t.Errorf("matters: %t, want %t", matters, tc.matters)
			}
		})
	}
}

func FuzzUevent(f *testing.F) {
	f.Add(message("add@/devices/pci0000:16/0000:17:00.0", "ACTION=add", "SUBSYSTEM=pci"))
	f.Add(message("change@/devices/a", "SUBSYSTEM=drm", "WEDGED=rebind"))
	f.Add(message("libudev"))
	f.Add([]byte("add@/x\x00SUBSYSTEM"))
	f.Fuzz(func(t *testing.T, data []byte) {
		event, ok := parseUevent(data)
		if ok && (event.action == "" || !strings.HasPrefix(event.path, "/") || event.subsystem == "") {
			t.Errorf("%+v", event)
		}
		if event.matters() && !ok {
			t.Errorf("what is no event matters: %+v", event)
		}
	})
}
