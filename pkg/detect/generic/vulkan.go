package generic

import (
	"cmp"
	"context"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// Vulkan finds the GPUs that no other backend knows, by the render node that the kernel's DRM class has for each: those of
// ARM, Qualcomm, Imagination, Broadcom and Moore Threads, and any other. It leaves out what only drives a display, what a
// virtual machine emulates, and everything of NVIDIA, AMD and Intel: what their own backends do not list, they leave out on
// purpose.
//
// vulkaninfo adds the product, the UUID and the memory where it may run; it is only run where there is such a GPU. A GPU on
// PCI is matched by vendor and device id. One in a system on a chip, which has no such ids, is matched where there is one of
// them and one answer left. Its memory is the largest heap that is local to the device; of what is integrated it is the
// host's, too.
func Vulkan() backend.Backend { return backend.New(vulkanName, detectVulkan) }

const vulkanName = "vulkan"

func detectVulkan(ctx context.Context, h *host.Host) (backend.Found, error) {
	found := backend.Found{Generic: true}
	table, drmErr := sysfs.ReadDRM(h.Files)
	if len(table.FolderOfRender) == 0 {
		return found, drmErr
	}
	functions, err := pci.Functions(h)
	cards := otherCards(h.Files, table, functions)
	if len(cards) == 0 {
		found.Degrade(err, drmErr)
		return found, nil
	}
	answers, toolErr := askVulkan(ctx, h)
	matchVulkan(cards, answers, functions)
	for _, card := range cards {
		found.Devices = append(found.Devices, card.device(h.Files))
	}
	found.Degrade(err, drmErr, toolErr)
	return found, nil
}

func askVulkan(ctx context.Context, h *host.Host) ([]vulkanDevice, error) {
	printed, err := host.Query(ctx, h, "", "vulkaninfo", "--summary")
	if err != nil {
		return nil, err
	}
	devices := parseVulkan(string(printed.Stdout))
	if len(devices) > 0 {
		// The full listing is long, and crashes with some drivers: without it only the memory is not known.
		if full, err := host.Query(ctx, h, "", "vulkaninfo"); err == nil {
			takeVulkanHeaps(devices, parseVulkan(string(full.Stdout)))
		}
	}
	return devices, nil
}

// matchVulkan gives each card the answer that is about it.
func matchVulkan(cards []otherCard, answers []vulkanDevice, functions []pci.Function) {
	onPCI := func(d vulkanDevice) bool {
		return slices.ContainsFunc(functions, func(f pci.Function) bool { return d.is(f.VendorID, f.DeviceID) })
	}
	left := slices.DeleteFunc(slices.Clone(answers), onPCI)
	var embedded []*otherCard
	for i := range cards {
		card := &cards[i]
		if card.function == nil {
			embedded = append(embedded, card)
			continue
		}
		same := slices.DeleteFunc(slices.Clone(answers), func(d vulkanDevice) bool { return !d.is(card.function.VendorID, card.function.DeviceID) })
		card.learn(same)
	}
	if len(embedded) == 1 && len(left) == 1 {
		embedded[0].learn(left)
	}
}

// learn takes what all answers about the same product agree on, and what is one card's alone where there is one answer.
func (c *otherCard) learn(answers []vulkanDevice) {
	if len(answers) == 0 {
		return
	}
	c.vulkan = answers[0]
	if len(answers) > 1 {
		c.vulkan.uuid = ""
	}
}

// device lists the card.
func (c otherCard) device(files host.Files) v1alpha1.Device {
	kind := backend.Kind{Backend: vulkanName, Vendor: c.vendor, Family: v1alpha1.FamilyGPU}
	var device v1alpha1.Device
	if c.function != nil {
		device, _, _ = kind.Device(files, *c.function, c.vulkan.name)
		device.Product = cmp.Or(device.Product, "GPU "+c.function.VendorID+":"+c.function.DeviceID)
	} else {
		device = kind.Platform(files, sysfs.PlatformDevice{Name: c.name, Folder: c.folder, Driver: c.driver})
		device.Product = cmp.Or(c.vulkan.name, c.vendor+" GPU")
	}
	device.UUID = c.vulkan.uuid
	if memory := c.vulkan.memory(); memory != nil {
		device.Memory = memory
	}
	device.Paths, device.Index = c.nodes.Paths(), backend.FirstIndex(c.nodes.Renders)
	device.Health = backend.DriverHealth(device.Driver, device.Paths, "see dmesg")
	return device
}
