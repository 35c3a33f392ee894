package mesh

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// Hardware is what decides by which library devices talk to each other.
type Hardware struct {
	Vendor  string
	Family  v1alpha1.DeviceFamily
	Backend string // the detection backend that found the device; empty where it is not known
}

// hardwareOf is the hardware of a device.
func hardwareOf(d *v1alpha1.Device) Hardware {
	return Hardware{Vendor: d.Vendor, Family: d.Family, Backend: d.Backend}
}

// Library is a library of collective communication.
type Library struct {
	// Name is the name of the library. Huawei's and Habana's libraries have the same.
	Name string
	// Maker tells apart libraries of one name.
	Maker string
	// TorchBackend is the library's name in torch.distributed, where RCCL is called nccl.
	TorchBackend string
	// TorchDevice is the type of the library's devices in torch.
	TorchDevice string
}

// InitBackend is the backend that torch's init_process_group is given where groups exchange tensors of the host as well:
// `cpu:gloo,cuda:nccl`.
func (l Library) InitBackend() string {
	if l.TorchDevice == "cpu" || l.TorchBackend == "" {
		return l.TorchBackend
	}
	return "cpu:gloo," + l.TorchDevice + ":" + l.TorchBackend
}

var (
	gloo = Library{Name: "Gloo", TorchBackend: "gloo", TorchDevice: "cpu"}
	mpi  = Library{Name: "MPI", TorchBackend: "mpi", TorchDevice: "cpu"}
)

// hardwareLibraries are the libraries by vendor and family; a family that is not listed has the vendor's first one where
// nothing but the vendor is known. Sources: torch.distributed's list of backends; vllm/platforms (CUDA and ROCm nccl, XPU
// xccl); torch_npu and habana_frameworks (hccl, on devices npu and hpu); torch_xla (xla) for TPU and Neuron; torch_qaic
// (qccl).
var hardwareLibraries = []struct {
	vendor  string
	family  v1alpha1.DeviceFamily
	library Library
}{
	{"nvidia", v1alpha1.FamilyGPU, Library{"NCCL", "nvidia", "nccl", "cuda"}},
	{"amd", v1alpha1.FamilyGPU, Library{"RCCL", "amd", "nccl", "cuda"}},
	{"intel", v1alpha1.FamilyGPU, Library{"oneCCL", "intel", "xccl", "xpu"}},
	{"intel", v1alpha1.FamilyASIC, Library{"HCCL", "habana", "hccl", "hpu"}},
	{"habana", v1alpha1.FamilyASIC, Library{"HCCL", "habana", "hccl", "hpu"}},
	{"gaudi", v1alpha1.FamilyASIC, Library{"HCCL", "habana", "hccl", "hpu"}},
	{"huawei", v1alpha1.FamilyNPU, Library{"HCCL", "huawei", "hccl", "npu"}},
	{"google", v1alpha1.FamilyTPU, Library{"XLA", "google", "xla", "xla"}},
	{"aws", v1alpha1.FamilyASIC, Library{"XLA", "aws", "xla", "xla"}},
	{"qualcomm", v1alpha1.FamilyASIC, Library{"QCCL", "qualcomm", "qccl", "qaic"}},
}

// vulkan is the detection backend of devices that have no driver of the vendor's own, so that its library does not run.
const vulkan = "vulkan"

// libraryFor is the library of some hardware: the vendor's own, else Gloo, which exchanges through the hosts' memory, or MPI
// where the engine starts by it.
func libraryFor(h Hardware, of v1alpha1.Engine) Library {
	if h.Backend != vulkan {
		for _, l := range hardwareLibraries {
			if l.vendor == h.Vendor && (h.Family == "" || h.Family == l.family) {
				return l.library
			}
		}
	}
	if e, err := engine.Find(of); err == nil && e.Ranks.ByMPI {
		return mpi
	}
	return gloo
}

// libraryNamed returns the library of a name for devices of a vendor.
func libraryNamed(name, vendor string) (Library, bool) {
	for _, l := range hardwareLibraries {
		if l.vendor == vendor && l.library.Name == name {
			return l.library, true
		}
	}
	for _, l := range []Library{gloo, mpi} {
		if l.Name == name {
			return l, true
		}
	}
	return Library{}, false
}

// CommonLibrary returns the library of a group with members on all of the hardware. It refuses members with different libraries,
// even of one name by different makers: they could exchange through the hosts' memory alone.
func CommonLibrary(hardware []Hardware, of v1alpha1.Engine) (Library, error) {
	var common Library
	for i, h := range hardware {
		l := libraryFor(h, of)
		if i == 0 {
			common = l
		}
		if l != common {
			return Library{}, fmt.Errorf("members %d (%s) and %d (%s) have no communication library in common (%s and %s): put them into different groups",
				0, hardware[0], i, h, common, l)
		}
	}
	return common, nil
}

func (h Hardware) String() string {
	if h.Family == "" {
		return h.Vendor
	}
	return h.Vendor + " " + string(h.Family)
}

// String returns the name of the library, with its maker where several makers have a library of that name.
func (l Library) String() string {
	if l.Maker == "" {
		return l.Name
	}
	return l.Name + " of " + l.Maker
}
