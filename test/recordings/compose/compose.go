// Package compose builds recordings of hosts from tables: what a kernel would show of the devices, and what the tools
// would print. A composed recording says so in its README; it is no capture.
package compose

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Host is a recording being built. Its methods keep the first error for Err, so that a table reads as a table.
type Host struct {
	*host.Recording
	errs []error
}

// New returns an empty Linux host, with a README that says what it is and where its facts come from.
func New(readme string) *Host {
	h := NewWithoutPCI(readme)
	h.Folder("/sys/bus/pci/devices")
	return h
}

// NewWithoutPCI returns an empty host that has no PCI bus.
func NewWithoutPCI(readme string) *Host {
	h := &Host{Recording: host.NewRecording()}
	h.Readme = "Composed, not captured.\n\n" + strings.TrimSpace(readme) + "\n"
	return h
}

// Err returns what went wrong so far; nil where nothing did.
func (h *Host) Err() error { return errors.Join(h.errs...) }

// Keep remembers an error for Err; nil changes nothing.
func (h *Host) Keep(err error) {
	if err != nil {
		h.errs = append(h.errs, err)
	}
}

// File adds a file; the content gets the line feed that the kernel ends it with.
func (h *Host) File(name, content string) {
	h.Keep(h.AddFile(name, strings.TrimRight(content, "\n")+"\n"))
}

// Files adds files to a folder, by their names in it.
func (h *Host) Files(folder string, contents map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		h.File(path.Join(folder, name), contents[name])
	}
}

// Folder adds a folder.
func (h *Host) Folder(name string) { h.Keep(h.AddFolder(name)) }

// Link adds a symbolic link.
func (h *Host) Link(name, target string) { h.Keep(h.AddLink(name, target)) }

// Device adds a character device node.
func (h *Host) Device(name string) { h.Keep(h.AddDevice(name)) }

// Command adds what a tool printed to its standard output, having exited with 0.
func (h *Host) Command(stdout string, argv ...string) {
	h.Keep(h.AddCommand(host.CommandResult{Stdout: []byte(stdout)}, argv...))
}

// Function is a PCI function. Hex numbers are as in the API: lower case, without 0x.
type Function struct {
	// Place is the way from the host bridge: `pci0000:15/0000:15:01.0/0000:17:00.0`.
	Place string
	// IDs are vendor, device, subsystem vendor and subsystem device: `10de:2330 10de:16c1`.
	IDs string
	// Class has six digits: `030200`.
	Class, Revision string
	// Driver is empty where none is bound.
	Driver string
	NUMA   int
	// Link is the highest speed and width: `32.0 GT/s PCIe x16`; empty where the function has no link.
	Link string
	// Extra files in the function's folder.
	Extra map[string]string
}

// Address returns the function's PCI address.
func (f Function) Address() string { return path.Base(f.Place) }

// Folder returns the function's folder in sysfs.
func (f Function) Folder() string { return path.Join("/sys/devices", f.Place) }

// PCI adds functions to the bus.
func (h *Host) PCI(functions ...Function) {
	for _, f := range functions {
		var vendor, device, subVendor, subDevice string
		_, err := fmt.Sscanf(strings.NewReplacer(":", " ").Replace(f.IDs), "%s %s %s %s", &vendor, &device, &subVendor, &subDevice)
		if err != nil {
			h.Keep(fmt.Errorf("%s: ids %q: %w", f.Place, f.IDs, err))
			continue
		}
		h.Files(f.Folder(), map[string]string{
			"vendor": "0x" + vendor, "device": "0x" + device, "class": "0x" + f.Class, "revision": "0x" + f.Revision,
			"subsystem_vendor": "0x" + subVendor, "subsystem_device": "0x" + subDevice,
			"numa_node": fmt.Sprint(f.NUMA),
		})
		if speed, width, ok := strings.Cut(f.Link, " x"); ok {
			h.Files(f.Folder(), map[string]string{
				"max_link_speed": speed, "max_link_width": width, "current_link_width": width, "power_state": "D0",
			})
		}
		h.File(path.Join(f.Folder(), "config"), header(vendor, device))
		h.Files(f.Folder(), f.Extra)
		up := strings.Repeat("../", strings.Count(f.Place, "/")+2)
		if f.Driver != "" {
			h.Folder("/sys/bus/pci/drivers/" + f.Driver)
			h.Link(path.Join(f.Folder(), "driver"), up+"bus/pci/drivers/"+f.Driver)
		}
		h.Link("/sys/bus/pci/devices/"+f.Address(), "../../../devices/"+f.Place)
	}
}

// Bridge returns a PCI bridge at a place.
func Bridge(place, ids, link string, numa int) Function {
	return Function{Place: place, IDs: ids, Class: "060400", Revision: "01", Driver: "pcieport", NUMA: numa, Link: link}
}

// header is what everybody may read of a function's configuration space, zero but for its ids (PCI Local Bus
// Specification, 6.1).
func header(vendor, device string) string {
	content := make([]byte, 64)
	for i, id := range []string{vendor, device} {
		number, _ := strconv.ParseUint(id, 16, 16)
		binary.LittleEndian.PutUint16(content[2*i:], uint16(number))
	}
	return string(content)
}
