package podresources

import (
	"regexp"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// naming is how one server of devices calls them.
type naming struct {
	// resource matches the extended resource, or the name of the DRA driver.
	resource *regexp.Regexp
	vendor   string
	// family is empty where the server serves every family of the vendor.
	family v1alpha1.DeviceFamily
	// share matches what a name ends with where a device is offered several times; nil where it never is.
	share *regexp.Regexp
	// forms are the ways that a name tells the device, in the order in which they are tried. None means that the server's
	// names tell nothing.
	forms []form
}

// form finds the devices of a name: several where a name means all the partitions of a device.
type form func(devices []v1alpha1.Device, name string) []v1alpha1.DeviceID

// ownShare is what ids of this agent's plugin end with where a device is shared.
var ownShare = regexp.MustCompile(`/\d+$`)

// pluginNamings are the device plugins whose names are known.
var pluginNamings = []naming{
	{ // NVIDIA: the UUID of a GPU or MIG device, `::N` for a time slice or an MPS share (internal/rm/devices.go of
		// NVIDIA/k8s-device-plugin). GKE's: `nvidia0`, `nvidia0/gi7`, and `/vgpuN` for a share (as the pod mapper of
		// NVIDIA/dcgm-exporter reads them). HAMi's `GPU-…-N` is not read: there, annotations decide which device the
		// container gets, whatever id the kubelet picked.
		resource: regexp.MustCompile(`^nvidia\.com/`), vendor: "nvidia",
		share: regexp.MustCompile(`(::|/vgpu)\d+$`), forms: []form{byUUID, byNode, byGPUInstance},
	},
	{ // AMD: the PCI address, which where a GPU is partitioned is its first partition (internal/pkg/amdgpu of
		// ROCm/k8s-device-plugin); `-slice-N` for a time slice (internal/pkg/plugin/timeslice.go). The other partitions are
		// `amdgpu_xcp_N`, in an order that the inventory does not know.
		resource: regexp.MustCompile(`^amd\.com/`), vendor: "amd",
		share: regexp.MustCompile(`-slice-\d+$`), forms: []form{byFirstOfPCI},
	},
	{ // Intel GPUs: `card0-0` (cmd/gpu_plugin of intel/intel-device-plugins-for-kubernetes).
		resource: regexp.MustCompile(`^gpu\.intel\.com/(i915|xe)$`), vendor: "intel", family: v1alpha1.FamilyGPU,
		share: regexp.MustCompile(`-\d+$`), forms: []form{byNode},
	},
	{ // Gaudi: closed; serial numbers and indices are taken where they are met.
		resource: regexp.MustCompile(`^habana\.ai/gaudi$`), vendor: "intel", family: v1alpha1.FamilyASIC,
		forms: []form{byUUID, byNode, byIndex},
	},
	{ // TPU of GKE: closed; the same holds.
		resource: regexp.MustCompile(`^google\.com/tpu$`), vendor: "google", forms: []form{byNode, byIndex},
	},
	{ // Neuron: closed; a device is all of its cores.
		resource: regexp.MustCompile(`^aws\.amazon\.com/neuron(device)?$`), vendor: "aws", forms: []form{byNode, byIndex},
	},
	{ // Nothing says how cores are counted: physical or logical, per device or per node.
		resource: regexp.MustCompile(`^aws\.amazon\.com/neuroncore$`), vendor: "aws",
	},
}

// driverNamings are the DRA drivers whose names are known. Attributes of ResourceSlices come first where they are read.
var driverNamings = []naming{
	{ // `gpu-MINOR` (cmd/gpu-kubelet-plugin of kubernetes-sigs/dra-driver-nvidia-gpu); names of MIG devices tell a place in
		// the GPU that the inventory does not know.
		resource: regexp.MustCompile(`^gpu\.nvidia\.com$`), vendor: "nvidia", forms: []form{byPattern(`^gpu-(\d+)$`, byIndex)},
	},
	{ // `gpu-CARD-RENDER` (cmd/gpu-kubeletplugin/deviceinfo.go of ROCm/k8s-gpu-dra-driver).
		resource: regexp.MustCompile(`^gpu\.amd\.com$`), vendor: "amd",
		forms: []form{byPattern(`^gpu-\d+-(\d+)$`, byRenderNode)},
	},
	{ // `0000-03-00-0-0x56c0`: PCI address and device id (README of intel/intel-resource-drivers-for-kubernetes).
		resource: regexp.MustCompile(`^gpu\.intel\.com$`), vendor: "intel", family: v1alpha1.FamilyGPU, forms: []form{byDashedPCI},
	},
	{
		resource: regexp.MustCompile(`^gaudi\.intel\.com$`), vendor: "intel", family: v1alpha1.FamilyASIC, forms: []form{byDashedPCI},
	},
	{resource: regexp.MustCompile(`^tpu\.google\.com$`), vendor: "google"},
	{resource: regexp.MustCompile(`^neuron\.amazonaws\.com$`), vendor: "aws"},
}

// namingOf returns how the server of a resource calls devices, nil where it is not known to serve accelerators.
func namingOf(server v1alpha1.DeviceServer, resource string) *naming {
	namings := pluginNamings
	if server == v1alpha1.ServedByDRA {
		namings = driverNamings
	}
	for i := range namings {
		if namings[i].resource.MatchString(resource) {
			return &namings[i]
		}
	}
	return nil
}

// serves says whether a device is of the kind that the server serves.
func (n *naming) serves(d *v1alpha1.Device) bool {
	return d.Vendor == n.vendor && (n.family == "" || n.family == d.Family)
}

// find returns the devices of a name, none where it does not tell.
func (n *naming) find(devices []v1alpha1.Device, name string) []v1alpha1.DeviceID {
	if n.share != nil {
		name = n.share.ReplaceAllString(name, "")
	}
	var served []v1alpha1.Device
	for i := range devices {
		if n.serves(&devices[i]) {
			served = append(served, devices[i])
		}
	}
	for _, f := range n.forms {
		if found := f(served, name); len(found) > 0 {
			return found
		}
	}
	return nil
}

// monitoring says whether a resource gives sight of devices without giving any of them away (gpu.intel.com/i915_monitoring).
func monitoring(resource string) bool { return strings.HasSuffix(resource, "monitoring") }
