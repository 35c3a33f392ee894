package mesh

import "github.com/rankwright/rankwright/api/v1alpha1"

// libraries are the communication library of a vendor's devices and the name of its backend in torch.distributed.
type libraries struct{ name, torch string }

// RCCL answers to nccl in torch; Ascend and Gaudi have different libraries of the same name; TPU and Neuron have none of
// torch's own and go through XLA.
var vendorLibraries = map[string]libraries{
	"nvidia": {"NCCL", "nccl"},
	"amd":    {"RCCL", "nccl"},
	"intel":  {"oneCCL", "xccl"},
	"gaudi":  {"HCCL", "hccl"},
	"habana": {"HCCL", "hccl"},
	"google": {"XLA", "xla"},
	"aws":    {"XLA", "xla"},
	"huawei": {"HCCL", "hccl"},
}

// libraryFor is the library of a vendor's devices, Gloo where none is known.
func libraryFor(id v1alpha1.DeviceID) libraries {
	if l, ok := vendorLibraries[id.Vendor()]; ok {
		return l
	}
	return libraries{"Gloo", "gloo"}
}
