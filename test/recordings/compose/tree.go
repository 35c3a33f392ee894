package compose

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Tree composes the file tree of a test's host: devices, and the links by which the kernel's classes and buses reach them. What
// cannot be added ends the test.
type Tree struct {
	testing.TB
	*host.Recording
}

// NewTree returns a Linux host with an empty PCI bus.
func NewTree(t testing.TB) Tree {
	tree := Tree{t, host.NewRecording()}
	tree.Folder("/sys/bus/pci/devices")
	tree.File("/proc/sys/kernel/osrelease", "6.8.0-60-generic\n")
	return tree
}

// Must ends the test where an addition failed.
func (t Tree) Must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// File adds a file as it is given.
func (t Tree) File(name, content string) { t.Helper(); t.Must(t.AddFile(name, content)) }

// Folder adds a folder.
func (t Tree) Folder(name string) { t.Helper(); t.Must(t.AddFolder(name)) }

// Link adds a symbolic link.
func (t Tree) Link(name, target string) { t.Helper(); t.Must(t.AddLink(name, target)) }

// Attributes are files of a device, by their names in its folder.
type Attributes map[string]string

// Merge joins attributes; the later ones win.
func Merge(all ...Attributes) Attributes {
	merged := Attributes{}
	for _, some := range all {
		maps.Copy(merged, some)
	}
	return merged
}

// PCIAttributes returns the attributes by which a PCI function is recognised: ids and class in hexadecimal without 0x.
func PCIAttributes(vendor, device, class string) Attributes {
	return Attributes{"vendor": "0x" + vendor, "device": "0x" + device, "class": "0x" + class, "revision": "0x00"}
}

// Function adds a PCI function at a place such as `pci0000:00/0000:00:01.0/0000:03:00.0` below /sys/devices and returns its folder;
// driver is empty where none is bound.
func (t Tree) Function(place, driver string, files ...Attributes) string {
	t.Helper()
	folder := path.Join("/sys/devices", place)
	all := Merge(files...)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.File(path.Join(folder, name), all[name]+"\n")
	}
	t.Link(path.Join("/sys/bus/pci/devices", path.Base(place)), folder)
	if driver != "" {
		t.Folder("/sys/bus/pci/drivers/" + driver)
		t.Link(path.Join(folder, "driver"), "/sys/bus/pci/drivers/"+driver)
	}
	return folder
}

// DRM adds nodes of the DRM class (`card0`, `renderD128`) of the device at the folder.
func (t Tree) DRM(folder string, names ...string) {
	t.Helper()
	for _, name := range names {
		t.Link(path.Join(folder, "drm", name, "device"), folder)
		t.Link(path.Join("/sys/class/drm", name), path.Join(folder, "drm", name))
	}
}

// Machine gives the host a device tree of a machine that is compatible with the names.
func (t Tree) Machine(compatible ...string) {
	t.Helper()
	t.File("/proc/device-tree/compatible", strings.Join(compatible, "\x00")+"\x00")
}

// Platform adds a device that the device tree describes and returns its folder; driver is empty where none is bound.
func (t Tree) Platform(name, driver string, compatible ...string) string {
	t.Helper()
	folder := "/sys/devices/platform/soc/" + name
	t.File("/proc/device-tree/soc/"+name+"/compatible", strings.Join(compatible, "\x00")+"\x00")
	t.Link(folder+"/of_node", "/proc/device-tree/soc/"+name)
	t.Link("/sys/bus/platform/devices/"+name, folder)
	if driver != "" {
		t.Folder("/sys/bus/platform/drivers/" + driver)
		t.Link(folder+"/driver", "/sys/bus/platform/drivers/"+driver)
	}
	return folder
}

// Place puts the captured files below a prefix at a folder of the tree.
func (t Tree) Place(files map[string]string, prefix, folder string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			t.File(path.Join(folder, rest), files[name])
		}
	}
}

// PlaceCard puts a captured card of the DRM class into the tree, with the PCI function that its uevent tells of.
func (t Tree) PlaceCard(files map[string]string, card, revision string) {
	t.Helper()
	prefix := ""
	for name := range files {
		if at := strings.Index(name, "/"+card+"/device/uevent"); at >= 0 && strings.HasSuffix(name, "/device/uevent") {
			prefix = name[:at+len("/"+card+"/device/")]
		}
	}
	uevent := map[string]string{}
	for line := range strings.Lines(files[prefix+"uevent"]) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		uevent[key] = value
	}
	vendor, device, _ := strings.Cut(strings.ToLower(uevent["PCI_ID"]), ":")
	composed := PCIAttributes(vendor, device, "0"+uevent["PCI_CLASS"])
	if revision != "" {
		composed["revision"] = revision
	}
	for name := range composed {
		if content, ok := files[prefix+name]; ok {
			composed[name] = strings.TrimSpace(content)
		}
	}
	folder := t.Function("pci0000:00/0000:00:01.1/"+uevent["PCI_SLOT_NAME"], strings.ToLower(uevent["DRIVER"]), composed)
	for name := range composed {
		delete(files, prefix+name)
	}
	t.Place(files, prefix, folder)
	t.DRM(folder, card)
}

// Capture returns the files of a tar.gz of the captures, by their names in it.
func Capture(t testing.TB, name string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for reader := tar.NewReader(bytes.NewReader(facts.Read(t, "captures/"+name))); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		var content bytes.Buffer
		if _, err := io.Copy(&content, reader); err != nil {
			t.Fatal(err)
		}
		files[header.Name] = content.String()
	}
}

// Recorded replays a recording that is committed in test/recordings.
func Recorded(t testing.TB, name string) *host.Host {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(root, "test", "recordings", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	recording, err := host.ReadRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	return recording.Host()
}

// Replay replays a composed host; what went wrong while it was composed ends the test.
func (h *Host) Replay(t testing.TB) *host.Host {
	t.Helper()
	if err := h.Err(); err != nil {
		t.Fatal(err)
	}
	return h.Host()
}

// OnlyDevice returns the one device of a status; any other number ends the test.
func OnlyDevice(t testing.TB, status v1alpha1.AcceleratorInventoryStatus) v1alpha1.Device {
	t.Helper()
	if len(status.Devices) != 1 {
		t.Fatalf("%d devices, want 1: %+v", len(status.Devices), status.Devices)
	}
	return status.Devices[0]
}

// GPUAt returns an NVIDIA GPU with the ids, on a host bridge of its own.
func GPUAt(address, ids string) Function {
	return Function{
		Place: fmt.Sprintf("pci%s/%s", address[:7], address), IDs: ids, Class: "030200", Revision: "a1",
		Driver: "nvidia", NUMA: -1, Link: "32.0 GT/s PCIe x16",
	}
}

// Mac composes a host without /sys and /proc, of which only commands tell more.
func Mac(t testing.TB, commands map[string]string) *host.Host {
	t.Helper()
	recording := host.NewRecording()
	if err := recording.AddFile(host.MacOSVersion, "<dict><key>ProductVersion</key>\n<string>15.6</string></dict>"); err != nil {
		t.Fatal(err)
	}
	recording.AllowCommands()
	for argv, output := range commands {
		if err := recording.AddCommand(host.CommandResult{Stdout: []byte(output)}, strings.Fields(argv)...); err != nil {
			t.Fatal(err)
		}
	}
	return recording.Host()
}

// Accel adds a member of the accel class to the device at the folder, and its node.
func (t Tree) Accel(folder string, number int) {
	t.Helper()
	name := fmt.Sprint("accel", number)
	t.Link("/sys/class/accel/"+name, folder+"/accel/"+name)
	t.Link(folder+"/accel/"+name+"/device", folder)
	t.File(folder+"/accel/"+name+"/uevent", "DEVNAME=accel/"+name+"\n")
	t.Must(t.AddDevice("/dev/accel/" + name))
}

// Prints adds what a tool prints.
func (t Tree) Prints(text string, argv ...string) {
	t.Helper()
	t.Must(t.AddCommand(host.CommandResult{Stdout: []byte(text)}, argv...))
}
