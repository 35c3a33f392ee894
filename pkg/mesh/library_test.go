package mesh

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func hardware(vendor string, family v1alpha1.DeviceFamily) Hardware {
	return Hardware{Vendor: vendor, Family: family}
}

// The library follows from what a device is, and two libraries may have one name.
func TestLibraryFollowsHardware(t *testing.T) {
	for _, test := range []struct {
		hardware             Hardware
		engine               v1alpha1.Engine
		name, torch, initial string
	}{
		{hardware("nvidia", v1alpha1.FamilyGPU), "", "NCCL", "nccl", "cpu:gloo,cuda:nccl"},
		{hardware("amd", v1alpha1.FamilyGPU), "", "RCCL", "nccl", "cpu:gloo,cuda:nccl"},
		{hardware("intel", v1alpha1.FamilyGPU), "", "oneCCL", "xccl", "cpu:gloo,xpu:xccl"},
		{hardware("intel", v1alpha1.FamilyASIC), "", "HCCL", "hccl", "cpu:gloo,hpu:hccl"},
		{hardware("huawei", v1alpha1.FamilyNPU), "", "HCCL", "hccl", "cpu:gloo,npu:hccl"},
		{hardware("google", v1alpha1.FamilyTPU), "", "XLA", "xla", "cpu:gloo,xla:xla"},
		{hardware("aws", v1alpha1.FamilyASIC), "", "XLA", "xla", "cpu:gloo,xla:xla"},
		{hardware("qualcomm", v1alpha1.FamilyASIC), "", "QCCL", "qccl", "cpu:gloo,qaic:qccl"},
		// Nothing but the vendor is known.
		{hardware("nvidia", ""), "", "NCCL", "nccl", "cpu:gloo,cuda:nccl"},
		// No library: through the hosts' memory.
		{hardware("intel", v1alpha1.FamilyNPU), "", "Gloo", "gloo", "gloo"},
		{hardware("amd", v1alpha1.FamilyCPU), "", "Gloo", "gloo", "gloo"},
		{hardware("amd", v1alpha1.FamilyCPU), v1alpha1.EngineMPI, "MPI", "mpi", "mpi"},
		{hardware("nvidia", v1alpha1.FamilyGPU), v1alpha1.EngineMPI, "NCCL", "nccl", "cpu:gloo,cuda:nccl"},
		{hardware("apple", v1alpha1.FamilyGPU), "", "Gloo", "gloo", "gloo"},
		// Seen by its Vulkan driver alone, so that there is none of CUDA.
		{Hardware{Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Backend: vulkan}, "", "Gloo", "gloo", "gloo"},
	} {
		got := libraryFor(test.hardware, test.engine)
		if named, known := libraryNamed(got.Name, test.hardware.Vendor); !known || named != got {
			t.Errorf("%s of %s is %+v, want %+v", got.Name, test.hardware.Vendor, named, got)
		}
		if got.Name != test.name || got.TorchBackend != test.torch || got.InitBackend() != test.initial {
			t.Errorf("%s in %q: got %+v, %s", test.hardware, test.engine, got, got.InitBackend())
		}
	}
}

func TestCommonLibrary(t *testing.T) {
	nvidia, amd := hardware("nvidia", v1alpha1.FamilyGPU), hardware("amd", v1alpha1.FamilyGPU)
	gaudi, ascend := hardware("intel", v1alpha1.FamilyASIC), hardware("huawei", v1alpha1.FamilyNPU)
	if l, err := CommonLibrary([]Hardware{nvidia, nvidia}, ""); err != nil || l.Name != "NCCL" {
		t.Errorf("got %v, %v", l, err)
	}
	for want, members := range map[string][]Hardware{
		"members 0 (nvidia GPU) and 1 (amd GPU) have no communication library in common (NCCL of nvidia and RCCL of amd)":       {nvidia, amd},
		"members 0 (intel ASIC) and 2 (huawei NPU) have no communication library in common (HCCL of habana and HCCL of huawei)": {gaudi, gaudi, ascend},
	} {
		_, err := CommonLibrary(members, "")
		wantError(t, err, want)
	}
}

// hostOf is a host with devices of one kind and vendor.
func hostOf(vendor string, family v1alpha1.DeviceFamily, numbers ...int) Host {
	status := &v1alpha1.AcceleratorInventoryStatus{}
	for _, id := range ids(vendor, numbers...) {
		status.Devices = append(status.Devices, v1alpha1.Device{ID: id, Vendor: vendor, Family: family})
	}
	return Host{Inventory: status}
}

// A Gaudi's id names Intel, whose GPUs have another library: what the device is decides.
func TestPlanOnGaudi(t *testing.T) {
	plan := &v1alpha1.ShardingPlanSpec{
		Engine: v1alpha1.EngineVLLM, Strategy: strategy(2, 2, 1, 1),
		Nodes: []v1alpha1.PlanRow{{Node: "a", Devices: ids("intel", 1, 2)}, {Node: "b", Stage: 1, Devices: ids("intel", 1, 2)}},
	}
	// The inventory of one node is not there.
	for _, known := range []string{"a", "b"} {
		spec, err := FromPlan("p", plan, Hosts{known: hostOf("intel", v1alpha1.FamilyASIC, 1, 2)})
		if err != nil || spec.Library != "HCCL" || spec.Groups[1].TorchBackend != "hccl" {
			t.Errorf("%s known: got %+v, %v", known, spec, err)
		}
	}
	_, err := FromPlan("p", plan, Hosts{"a": hostOf("intel", v1alpha1.FamilyASIC, 1, 2), "b": hostOf("intel", v1alpha1.FamilyGPU, 1, 2)})
	wantError(t, err, "rank 2 of copy 0 is a device of intel GPU, others of its shape are of intel ASIC: vendors have no communication library in common (oneCCL of intel and HCCL of habana)")
}
