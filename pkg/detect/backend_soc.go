package detect

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// socNPU is a backend for the NPUs inside one vendor's SoCs, which the device tree describes.
type socNPU struct {
	name, vendor, product string
	// pattern matches NPUs among the platform devices; pick, where there is one, leaves out parts of others.
	pattern func(compatible string) bool
	pick    func(devices []platformDevice) []platformDevice
	// classes are those whose members are device nodes of the NPU that they belong to.
	classes []string
	// shared are folders in sysfs of a device node by which all NPUs of the SoC are reached.
	shared []string
	load   string
}

// Name implements Backend.
func (b *socNPU) Name() string { return b.name }

// Detect implements Backend.
func (b *socNPU) Detect(_ context.Context, h *host.Host) (Found, error) {
	machine := readMachine(h.Files)
	if !madeBy(machine, b.vendor) {
		return Found{}, nil
	}
	devices, err := readPlatformDevices(h.Files, b.pattern)
	if b.pick != nil {
		devices = b.pick(devices)
	}
	if len(devices) == 0 {
		return Found{}, err
	}
	nodes, nodeErr := b.nodes(h.Files)
	found := Found{}
	found.degrade(err, nodeErr)
	for _, device := range devices {
		paths := append(nodePaths(nodes[device.folder]), b.sharedPaths(h.Files)...)
		listed := v1alpha1.Device{
			ID: v1alpha1.DeviceID(b.vendor + "-" + idText(device.name)), Vendor: b.vendor, Family: v1alpha1.FamilyNPU, Backend: b.name,
			Product: b.product, Architecture: socName(machine, b.vendor), Driver: device.driver, Paths: paths,
			NUMANode: readNUMANode(h.Files, device.folder), Health: driverHealth(device.driver, paths, b.load),
		}
		if device.driver != "" {
			listed.DriverVersion = moduleVersion(h.Files, device.driver)
		}
		found.Devices = append(found.Devices, listed)
	}
	return found, nil
}

func (b *socNPU) nodes(files host.Files) (map[string][]classMember, error) {
	nodes := map[string][]classMember{}
	var problem error
	for _, class := range b.classes {
		members, err := classMembers(files, class)
		problem = cmp.Or(problem, err)
		for folder, of := range members {
			nodes[folder] = append(nodes[folder], of...)
		}
	}
	return nodes, problem
}

func (b *socNPU) sharedPaths(files host.Files) []string {
	for _, folder := range b.shared {
		if node := deviceNode(files, folder); node != "" && host.Exists(files, node) {
			return []string{node}
		}
	}
	return nil
}

// socName is the vendor's name of the SoC: the last that the machine is compatible with, as the board comes first.
func socName(machine []string, vendor string) string {
	for i := len(machine) - 1; i >= 0; i-- {
		if name, ok := strings.CutPrefix(strings.ToLower(machine[i]), vendor+","); ok {
			return path.Base(name)
		}
	}
	return ""
}

// idText makes a kernel's name fit an id.
func idText(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".:_-", r) {
			return r
		}
		return '_'
	}, host.Clip(name, 64))
}
