package generic

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// otherCard is a GPU of the DRM class that is nobody else's.
type otherCard struct {
	folder string
	nodes  sysfs.DRMNodes
	driver string
	vendor string
	// function is the card's on the PCI bus; nil where it is a part of a system on a chip.
	function *pci.Function
	// name is the kernel's for a card that is not on PCI, from its address in the device tree: `fb000000.gpu`.
	name   string
	vulkan vulkanDevice
}

// ownBackends are the PCI vendors whose GPUs have a backend of their own, or (Hygon) compute and do not draw.
var ownBackends = []string{"10de", "1002", "8086", "1d94"}

// notGPUs are drivers whose devices have DRM nodes and cannot compute: controllers of displays and of management
// processors, emulated cards, and what is drawn by the host's processor. Most have no render node; those that have one in
// some versions need the table. Source: Linux, drivers/gpu/drm.
var notGPUs = strings.Fields(`
	ast mgag200 hibmc-drm gma500 loongson
	virtio-pci virtio_gpu virtio-gpu bochs-drm cirrus cirrus-qemu qxl vmwgfx vboxvideo hyperv_drm xen-drm
	simple-framebuffer simpledrm ofdrm vga16fb efidrm vesadrm vkms vgem udl gud evdi
	rockchip-drm sun4i-drm mediatek-drm imx-drm exynos-drm meson-drm vc4-drm komeda mali-dp hdlcd pl111 tidss tilcdc omapdrm stm
`)

// otherBackends are drivers of chips whose GPUs have a backend of their own, away from PCI.
var otherBackends = strings.Fields(`asahi apple-drm nvgpu gk20a tegra drm tegra-host1x`)

// pciGPUVendors and socGPUVendors name who makes a GPU: by the PCI vendor, and by the driver where there is no PCI.
// Sources: the PCI id database (pci-ids.ucw.cz); Linux, drivers/gpu/drm.
var pciGPUVendors = map[string]string{
	"1ed5": "moore-threads", "1d17": "zhaoxin", "0731": "jingjia", "1010": "imagination", "13b5": "arm", "17cb": "qualcomm", "14e4": "broadcom",
}

var socGPUVendors = map[string]string{
	"panfrost": "arm", "panthor": "arm", "lima": "arm", "mali": "arm",
	"msm": "qualcomm", "msm_dpu": "qualcomm", "adreno": "qualcomm",
	"v3d": "broadcom", "vc4": "broadcom", "etnaviv": "vivante", "powervr": "imagination", "pvrsrvkm": "imagination",
}

// otherCards are the cards with a render node that are left for the generic backend, in order of their folders.
func otherCards(files host.Files, table sysfs.DRM, functions []pci.Function) []otherCard {
	places := pci.PlacesOf(functions)
	var cards []otherCard
	for folder, nodes := range table.ByFolder {
		if len(nodes.Renders) == 0 {
			continue
		}
		card := otherCard{folder: folder, nodes: nodes, function: places[folder]}
		if card.identify(files) && len(cards) < backend.MaxDevices {
			cards = append(cards, card)
		}
	}
	slices.SortFunc(cards, func(a, b otherCard) int { return strings.Compare(a.folder, b.folder) })
	return cards
}

// kernelName is a device's name that can be a part of an id.
var kernelName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.:_-]{0,60}$`)

// identify says who makes the card; false where it is no GPU, or somebody else's.
func (c *otherCard) identify(files host.Files) bool {
	if f := c.function; f != nil {
		if slices.Contains(ownBackends, f.VendorID) || slices.Contains(notGPUs, f.Driver) || pci.IsVirtual(files, *f) {
			return false
		}
		c.driver, c.vendor = f.Driver, cmp.Or(pciGPUVendors[f.VendorID], "pci-"+f.VendorID)
		return true
	}
	target, err := files.ReadLink(path.Join(c.folder, "driver"))
	if err != nil {
		return false // a device of no driver is no GPU, but a part of one
	}
	c.driver, c.name = host.Clip(path.Base(target), 64), path.Base(c.folder)
	if slices.Contains(notGPUs, c.driver) || slices.Contains(otherBackends, c.driver) || !kernelName.MatchString(c.name) {
		return false
	}
	c.vendor = cmp.Or(socGPUVendors[c.driver], "soc")
	return true
}
