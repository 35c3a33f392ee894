// Package pci lists the functions on a host's PCI buses, with their ids, their place in the topology and what the kernel shows of
// their health.
package pci

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

const devicesFolder = "/sys/bus/pci/devices"

// Function is a function on a PCI bus as the kernel shows it. Of what only connects others (see plumbing) it holds no
// more than class, ids and path.
type Function struct {
	v1alpha1.PCIDevice
	// Class is base class, sub-class and interface in six hex digits (`030200`).
	Class string
	// Driver is the kernel driver bound to the function; empty where none is.
	Driver string
	// NUMANode is nil where the kernel does not know.
	NUMANode *int32
	// Path is the function's folder under /sys/devices, links resolved.
	Path string
}

// Functions returns every PCI function of the host in order of addresses. With an error it still returns the functions that
// could be read. A host without a PCI bus has no functions and no error; without sysfs nothing is known, which is an error.
func Functions(h *host.Host) ([]Function, error) {
	return host.Once(h, busKey{}, func() ([]Function, error) { return list(h) })
}

// Matching returns the host's functions that match, without an SR-IOV host's virtual ones, which belong to its guests. Errors are
// as from Functions.
func Matching(h *host.Host, match func(Function) bool) ([]Function, error) {
	functions, err := Functions(h)
	var matching []Function
	for _, f := range functions {
		if match(f) && !IsVirtual(h.Files, f) {
			matching = append(matching, f)
		}
	}
	return matching, err
}

// busKey is what a host remembers the functions of its PCI buses by.
type busKey struct{}

var addressForm = regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// IsAddress says whether a text is a PCI address as the kernel prints it: `0000:17:00.0`.
func IsAddress(text string) bool { return addressForm.MatchString(text) }

func list(h *host.Host) ([]Function, error) {
	addresses, err := h.Files.ReadDir(devicesFolder)
	if errors.Is(err, fs.ErrNotExist) {
		if !host.Exists(h.Files, "/sys/bus") && host.IsLinux(h.Files) {
			return nil, fmt.Errorf("%w: the host's sysfs is needed at /sys", err)
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var functions []Function
	var unread []error
	for _, address := range addresses {
		if !IsAddress(address) {
			continue
		}
		function, err := readFunction(h.Files, address)
		switch {
		case errors.Is(err, fs.ErrNotExist): // gone since the folder was listed
		case err != nil:
			unread = append(unread, err)
		default:
			functions = append(functions, function)
		}
	}
	slices.SortFunc(functions, func(a, b Function) int { return cmp.Compare(a.Address, b.Address) })
	return functions, errors.Join(unread...)
}

func readFunction(files host.Files, address string) (Function, error) {
	folder, err := folderOf(files, address)
	if err != nil {
		return Function{}, err
	}
	function := Function{Path: folder}
	function.Address = address
	function.Root, function.Bridges = pathOf(folder)
	if err := function.readIDs(files); err != nil {
		return Function{}, fmt.Errorf("PCI function %s: %w", address, err)
	}
	if function.connects() {
		return function, nil
	}
	function.NUMANode = sysfs.ReadNUMANode(files, folder)
	function.LinkMTps = readLinkRate(files, folder, "max_link_speed")
	function.LinkWidth = readLinkWidth(files, folder)
	return function, nil
}

// folderOf is the folder of a function below /sys/devices. The kernel's link to it leads there in one step; a tree that
// has the folder itself in the link's place is walked.
func folderOf(files host.Files, address string) (string, error) {
	name := devicesFolder + "/" + address
	target, err := files.ReadLink(name)
	if err != nil || path.IsAbs(target) {
		return files.RealPath(name)
	}
	return path.Join(devicesFolder, target), nil
}

// readIDs reads class and ids and, of what does more than connect others, revision and driver. The kernel has most of it in one file
// (Linux, pci_uevent in drivers/pci/pci-driver.c): a server has some hundred functions, and most of what a detection takes is opening
// files. What that file does not tell, or not in the right form, is read from a file of its own.
func (f *Function) readIDs(files host.Files) error {
	text, _, _ := host.ReadText(files, f.Path+"/uevent")
	uevent := sysfs.ParseUevent(text)
	if uevent["PCI_SLOT_NAME"] != f.Address { // it follows the ids: the text is whole
		uevent = nil
	}
	vendor, device, _ := strings.Cut(uevent["PCI_ID"], ":")
	for _, a := range []attribute{
		{"class", uevent["PCI_CLASS"], 6, &f.Class}, {"vendor", vendor, 4, &f.VendorID}, {"device", device, 4, &f.DeviceID},
	} {
		if ok, err := a.read(files, f.Path); err != nil {
			return err
		} else if !ok {
			return fmt.Errorf("%s: %w", a.file, fs.ErrNotExist)
		}
	}
	if f.connects() {
		return nil
	}
	vendor, device, _ = strings.Cut(uevent["PCI_SUBSYS_ID"], ":")
	for _, a := range []attribute{
		{"subsystem_vendor", vendor, 4, &f.SubsystemVendorID},
		{"subsystem_device", device, 4, &f.SubsystemDeviceID},
		{"revision", "", 2, &f.Revision},
	} {
		_, _ = a.read(files, f.Path) // without it the product may stay ambiguous, no more
	}
	f.Driver = host.Clip(uevent["DRIVER"], 64)
	if f.Driver == "" {
		f.Driver = sysfs.Driver(files, f.Path)
	}
	return nil
}

// Key returns what the catalogue tells products apart by. name is the product's name as a driver or tool gives it, empty where it
// is not known; memoryMiB is its memory, 0 where it is not known.
func (f *Function) Key(name string, memoryMiB int64) accelerator.Key {
	return accelerator.Key{
		VendorID: f.VendorID, DeviceID: f.DeviceID, Revision: f.Revision,
		SubsystemVendorID: f.SubsystemVendorID, SubsystemDeviceID: f.SubsystemDeviceID, Product: name, MemoryMiB: memoryMiB,
	}
}

// plumbing are the base classes of which only class and ids are read: bridges, system peripherals, serial buses and
// performance counters, which are nine tenths of the functions of a server.
var plumbing = map[string]bool{"06": true, "08": true, "0c": true, "11": true}

// misclassed are the accelerators that call themselves plumbing, by vendor and class: Amazon's and Coral's are system
// peripherals, AMD's NPUs signal processing controllers.
var misclassed = map[[2]string]bool{{"1d0f", "0880"}: true, {"1ac1", "0880"}: true, {"1022", "1180"}: true}

// connects says whether the function only connects others.
func (f *Function) connects() bool {
	return plumbing[f.Class[:2]] && !misclassed[[2]string{f.VendorID, f.Class[:4]}]
}

// attribute is a hexadecimal number of so many digits: as it was told already, else in a file.
type attribute struct {
	file, told string
	digits     int
	target     *string
}

func (a attribute) read(files host.Files, folder string) (ok bool, err error) {
	value, invalid := strconv.ParseUint(a.told, 16, 4*a.digits)
	if invalid != nil {
		if value, ok, err = host.ReadHex(files, path.Join(folder, a.file)); !ok {
			return false, err
		}
	}
	*a.target = hexDigits(value, a.digits)
	return true, nil
}

// hexDigits prints a value in as many digits, keeping the lowest.
func hexDigits(value uint64, digits int) string {
	text := fmt.Sprintf("%0*x", digits, value)
	return text[len(text)-digits:]
}

// pathOf reads the host bridge and the bridges from a resolved sysfs path, such as
// /sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0.
func pathOf(folder string) (root string, bridges []string) {
	steps := strings.Split(path.Dir(folder), "/")
	start := slices.IndexFunc(steps, func(step string) bool { return strings.HasPrefix(step, "pci") })
	if start < 0 {
		return "", nil
	}
	for _, step := range steps[start+1:] {
		// A bus behind a virtual bridge (VMD, Hyper-V) adds steps that are no functions: pci10000:e0.
		if IsAddress(step) {
			bridges = append(bridges, step)
		}
	}
	return host.Clip(steps[start], 64), bridges[:min(len(bridges), 16)]
}

// readLinkRate reads `32.0 GT/s PCIe` as 32000; 0 where the link does not say (`Unknown`).
func readLinkRate(files host.Files, folder, name string) int32 {
	text, _, _ := host.ReadText(files, path.Join(folder, name))
	number, unit, _ := strings.Cut(text, " ")
	rate, err := strconv.ParseFloat(number, 64)
	if err != nil || !strings.HasPrefix(unit, "GT/s") || !(rate > 0 && rate <= 1024) {
		return 0
	}
	return int32(rate * 1000)
}

// maxLanes is above what a link has (32).
const maxLanes = 64

// readLinkWidth reads the number of lanes; 0 and 255 are what a function without a link says, 63 one that does not answer.
func readLinkWidth(files host.Files, folder string) int32 {
	width, _, err := host.ReadInt(files, path.Join(folder, "max_link_width"))
	if err != nil || width < 0 || width > maxLanes || width == allOnes {
		return 0
	}
	return int32(width)
}

// IsVirtual says whether the function belongs to a guest of an SR-IOV host rather than to the host itself.
func IsVirtual(files host.Files, function Function) bool {
	_, err := files.ReadLink(path.Join(function.Path, "physfn"))
	return err == nil
}
