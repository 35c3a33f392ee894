package backend

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// SoC describes the NPUs inside one vendor's systems on a chip, which the device tree tells of.
type SoC struct {
	Kind
	Product string
	// Pattern matches NPUs among the platform devices; Pick, where there is one, leaves out parts of others.
	Pattern func(compatible string) bool
	Pick    func(devices []sysfs.PlatformDevice) []sysfs.PlatformDevice
	// Classes are the kernel's classes whose members are device nodes of the NPU that they belong to.
	Classes []string
	// Shared are folders in sysfs of a device node by which all NPUs of the SoC are reached.
	Shared []string
	// Load says how to get a driver.
	Load string
}

// NewSoC is a backend for the NPUs of a vendor's systems on a chip.
func NewSoC(s SoC) Backend { return New(s.Backend, s.detect) }

func (s SoC) detect(_ context.Context, h *host.Host) (Found, error) {
	machine := sysfs.ReadMachine(h.Files)
	if !sysfs.MadeBy(machine, s.Vendor) {
		return Found{}, nil
	}
	devices, err := sysfs.ReadPlatformDevices(h.Files, s.Pattern)
	if s.Pick != nil {
		devices = s.Pick(devices)
	}
	if len(devices) == 0 {
		return Found{}, err
	}
	nodes, nodeErr := s.nodes(h.Files)
	found := Found{}
	found.Degrade(err, nodeErr)
	for _, platform := range devices {
		device := s.Platform(h.Files, platform)
		device.Product, device.Architecture = s.Product, socName(machine, s.Vendor)
		device.Paths = append(sysfs.NodePaths(nodes[platform.Folder]), s.sharedPaths(h.Files)...)
		device.Health = DriverHealth(device.Driver, device.Paths, s.Load)
		found.Devices = append(found.Devices, device)
	}
	return found, nil
}

func (s SoC) nodes(files host.Files) (map[string][]sysfs.Member, error) {
	nodes := map[string][]sysfs.Member{}
	var problem error
	for _, class := range s.Classes {
		members, err := sysfs.ClassMembers(files, class)
		problem = cmp.Or(problem, err)
		for folder, of := range members {
			nodes[folder] = append(nodes[folder], of...)
		}
	}
	return nodes, problem
}

func (s SoC) sharedPaths(files host.Files) []string {
	for _, folder := range s.Shared {
		if node := sysfs.DeviceNode(files, folder); node != "" {
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
