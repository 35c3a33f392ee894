package injection

import (
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Kind is what the devices of a detection backend need in a container.
type Kind struct {
	// Backend is the name of the backend that lists the devices; their class is the vendor, a hyphen and Noun.
	Backend, Noun string
	// Shared are device nodes that all devices need beside their own, where the host has them; Required are the shared nodes
	// without which nothing works.
	Shared, Required []string
	// Library begins the name of a user library that has to be of the very release of the node's driver, and so comes from
	// the node; empty where images bring what they need.
	Library string
	// Variables are set in their order; separates says that they keep apart devices that are reached by the same nodes.
	Variables []Variable
	separates bool
	// Note is for readers of the documentation; Sources are where nodes and variables are documented, empty where only the
	// detection knows them. Image is what the container's image has to bring, Runtime what the node's container runtime has to
	// be set to.
	Note, Sources, Image, Runtime string
}

// Variable is an environment variable of the vendor.
type Variable struct {
	// Name is the variable's name; Holds says, for documentation, what its value is.
	Name, Holds string
	// nodes and cdi are its value in each mode; nil, or an empty value, means that it is not set.
	nodes, cdi func(grant) (string, error)
}

// Modes returns the modes in which the variable may be set.
func (v *Variable) Modes() []Mode {
	var modes []Mode
	if v.nodes != nil {
		modes = append(modes, DeviceNodes)
	}
	if v.cdi != nil {
		modes = append(modes, CDI)
	}
	return modes
}

// inBoth is a variable that is read by libraries in the container, whatever put the devices there.
func inBoth(name, holds string, value func(grant) (string, error)) Variable {
	return Variable{Name: name, Holds: holds, nodes: value, cdi: value}
}

// forRuntime is a variable that the vendor's container runtime reads, which then adds the devices itself: beside CDI it
// would add them twice.
func forRuntime(name, holds string, value func(grant) (string, error)) Variable {
	return Variable{Name: name, Holds: holds, nodes: value}
}

const onlyNodes = "The nodes decide what is visible; no variable could be verified."

// kinds are in order of the backends' names. A backend that is not listed has devices that need their own nodes alone.
var kinds = []Kind{
	{
		Backend: "amd", Noun: "gpu",
		Note: "The kernel's driver hides every GPU whose render node the container may not open, partitions (CPX, DPX, …) included. " +
			"ROCR_VISIBLE_DEVICES is left unset: Ray refuses to start beside it, and it would keep nothing apart that the nodes do not.",
		Image: "ROCm's user libraries, of a release that the host's amdgpu driver supports",
		Sources: "ROCm documentation, Running ROCm Docker containers (/dev/kfd, render nodes) and User and kernel-space support matrix; " +
			"Ray, python/ray/_private/accelerators/amd_gpu.py (raises where ROCR_VISIBLE_DEVICES is set)",
	},
	{
		Backend: "ascend", Noun: "npu",
		Variables: []Variable{forRuntime("ASCEND_VISIBLE_DEVICES", "numbers of /dev/davinciN on the host", hostIndexes)},
		Note: "Read by Ascend Docker Runtime, which also mounts the driver's libraries; without it they must be in the image. " +
			"ASCEND_RT_VISIBLE_DEVICES is left unset: its numbers are the container's own, and so all of them.",
		Image:   "CANN, and the driver's libraries where Ascend Docker Runtime does not mount them (always in mode CDI)",
		Runtime: "Ascend Docker Runtime, or CDI",
		Sources: "MindCluster, Ascend Docker Runtime; CANN, ASCEND_RT_VISIBLE_DEVICES; vllm-ascend (leave it unset where a container has some of a host's NPUs)",
	},
	{Backend: "cerebras", Noun: "wse", Note: "Reached over the network: there is no node to give."},
	{
		Backend: "furiosa", Noun: "npu", Note: onlyNodes + " RNGD's driver needs io_uring, which the default seccomp profile forbids.",
		Image:   "the Furiosa SDK",
		Sources: "FuriosaAI SDK, Container Support",
	},
	{
		Backend: "gaudi", Noun: "gaudi",
		Variables: []Variable{
			forRuntime("HABANA_VISIBLE_DEVICES", "numbers of /dev/accel/accelN on the host", hostIndexes),
			inBoth("HABANA_VISIBLE_MODULES", "module numbers, where not all of the node's cards are granted", habanaModules),
		},
		Note:    "HABANA_VISIBLE_DEVICES is read by habanalabs-container-runtime, HABANA_VISIBLE_MODULES by the software in the container.",
		Image:   "the Intel Gaudi software of the release of the host's driver",
		Runtime: "CDI, or habanalabs-container-runtime",
		Sources: "Intel Gaudi documentation, Multiple Tenants on HPU; HabanaAI's device plugin (which variables, of which numbers)",
	},
	{
		Backend: "graphcore", Noun: "ipu", Note: onlyNodes + " IPUs of a Pod are reached over the network: there is no node to give.",
		Image: "the Poplar SDK, of a release that the host's driver supports",
	},
	{Backend: "groq", Noun: "lpu", Note: onlyNodes, Image: "the GroqWare runtime, of the release of the host's driver"},
	{
		Backend: "hailo", Noun: "npu", Note: onlyNodes,
		Image:   "HailoRT, of the very version of the host's driver",
		Sources: "HailoRT's installation guide (library and driver have to be of the same version)",
	},
	{
		Backend: "intel-gpu", Noun: "gpu",
		Variables: []Variable{inBoth("ZE_FLAT_DEVICE_HIERARCHY",
			"`COMPOSITE` where a Data Center GPU Max is granted, so that a card is one device, as it is counted here, and not one for each tile", levelZeroHierarchy)},
		Note: "ZE_AFFINITY_MASK is left unset: it numbers the devices that Level Zero finds in the container, which are the granted ones. " +
			"A pod that wants each tile as a device sets ZE_FLAT_DEVICE_HIERARCHY to `FLAT` itself, which wins over the device plugin's.",
		Image:   "Level Zero, the compute runtime (NEO) and what is built on them",
		Sources: "Level Zero specification, Affinity Mask and Device Hierarchy (FLAT is the default of Data Center GPU Max)",
	},
	{Backend: "intel-npu", Noun: "npu", Note: onlyNodes, Image: "Level Zero and the NPU's user-mode driver with its compiler (intel/linux-npu-driver)"},
	{
		Backend: "jetson", Noun: "gpu",
		Variables: []Variable{{Name: nvidiaVisible, cdi: nvidiaVoid, Holds: nvidiaVoidSays}},
		Library:   "libcuda.so",
		Note: "The user libraries come from the host, by lists that JetPack has there: take the host's own specification (`cdiKind: nvidia.com/gpu`), or " +
			"NVIDIA's runtime (`userLibraries: Runtime`). A specification of our own has none of them, and is refused.",
		Image:   "CUDA's toolkit libraries as far as they are used; never libcuda",
		Runtime: "CDI, or NVIDIA's runtime as the pods' runtime class or the default",
		Sources: "NVIDIA Container Toolkit, CDI and runtime on Tegra",
	},
	{
		Backend: "neuron", Noun: "neuron", separates: true,
		Variables: []Variable{
			inBoth("NEURON_RT_VISIBLE_CORES", "logical core numbers, where a chip is granted in part", neuronCores),
			inBoth("NEURON_LOGICAL_NC_CONFIG", "physical cores in a logical one, where NEURON_RT_VISIBLE_CORES is set and it is not 1", neuronGrouping),
		},
		Note: "Whole chips need no variable. Cores of a chip share its node: the variable keeps apart only what respects it. How cores are numbered where " +
			"a container has some chips of the host is not documented, so a chip is granted in part only where both ways to count agree: " +
			"together with every chip of a lower number.",
		Image:   "the Neuron runtime library and tools of a release that the host's driver supports",
		Sources: "AWS Neuron documentation, Neuron Runtime environment variables, Logical NeuronCore configuration",
	},
	{
		Backend: "nvidia", Noun: "gpu",
		Shared:   []string{"/dev/nvidiactl", "/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"},
		Required: []string{"/dev/nvidiactl", "/dev/nvidia-uvm"},
		Library:  "libcuda.so",
		Variables: []Variable{
			{Name: nvidiaVisible, nodes: nvidiaUUIDs, cdi: nvidiaVoid, Holds: "UUIDs of GPUs or MIG devices; " + nvidiaVoidSays},
		},
		Note: "Libraries, tools, firmware and sockets of the node's driver come with CDI: below. Device nodes alone come without libcuda, so they are refused unless " +
			"the configuration says who brings it: NVIDIA's runtime, which mounts it by NVIDIA_VISIBLE_DEVICES (`userLibraries: Runtime`), or the image. " +
			"CUDA's images set that variable to `all`: unset, NVIDIA's runtime would add every GPU. A MIG device's capability nodes are among its own. " +
			"CUDA_VISIBLE_DEVICES is left unset: CUDA numbers what it can open.",
		Image:   "CUDA's toolkit libraries as far as they are used; libcuda and NVML of the node are put before any that it has",
		Runtime: "CDI; with `userLibraries: Runtime`, NVIDIA's runtime as the pods' runtime class or the default",
		Sources: "NVIDIA Container Toolkit, Specialized Configurations (all, none, void) and Support for CDI; nvidia-ctk (its own specifications set void); " +
			"MIG User Guide, Device Nodes and Capabilities; IMEX documentation, Channels",
	},
	{
		Backend: "qualcomm", Noun: "qaic", Note: onlyNodes,
		Image:   "the Cloud AI Apps SDK",
		Sources: "Qualcomm Cloud AI documentation, Launch container",
	},
	{
		Backend: "tenstorrent", Noun: "asic",
		Note: "Chips behind one PCI function (n300) are granted together. TT_VISIBLE_DEVICES is left unset: then every device node of the container is opened, " +
			"and what its numbers mean changed with tt-umd 0.9.3.",
		Image:   "TT-Metalium and what is built on it",
		Sources: "tenstorrent/tt-umd, docs/TT_VISIBLE_DEVICES.md",
	},
	{
		Backend: "tpu", Noun: "tpu",
		Variables: []Variable{
			inBoth("TPU_CHIPS_PER_PROCESS_BOUNDS", "`1,1,1`, `1,2,1` or `2,2,1` for 1, 2 or 4 chips, where not all chips of the host are granted", tpuBounds),
			inBoth("TPU_PROCESS_BOUNDS", "`1,1,1`, where the other is set", tpuProcessBounds),
		},
		Note: "All chips of a host need no variable, so that a slice of many hosts can set its own. TPU_VISIBLE_CHIPS is left unset: Google's own driver sets it in privileged " +
			"containers only, which see every node, and how it counts in others is not documented. Cores of a chip are granted together.",
		Image:   "libtpu, of a release that knows the chips",
		Sources: "kubernetes-sigs/dra-driver-google-tpu (which nodes, bounds by number of chips, TPU_VISIBLE_CHIPS); gist.github.com/skye/f82ba45d2445bb19d53545538754f9a3 (bounds of a part of a host, v2 to v4)",
	},
	{Backend: "unknown-accelerator", Noun: "accelerator", Note: "Never offered: nothing knows how work gets to them."},
	{Backend: "xdna", Noun: "npu", Note: onlyNodes, Image: "XRT and the plug-in of XDNA for it (amd/xdna-driver)"},
}

// Kinds returns every kind that needs more than its own nodes or is known to need no more, in order of the backends.
func Kinds() []Kind { return slices.Clone(kinds) }

// kindOf returns the row of the device's backend.
func kindOf(d *v1alpha1.Device) Kind {
	if kind := kindNamed(d.Backend); kind.Noun != "" {
		return kind
	}
	return Kind{Backend: d.Backend, Noun: strings.ToLower(string(d.Family)), Note: onlyNodes}
}

// kindNamed returns the row of a backend; an empty one where there is none.
func kindNamed(backend string) Kind {
	if at := slices.IndexFunc(kinds, func(k Kind) bool { return k.Backend == backend }); at >= 0 {
		return kinds[at]
	}
	return Kind{}
}

// Class is the vendor and the kind of processor: `nvidia-gpu`, `intel-gaudi`, `google-tpu`. It is the class of the
// device's CDI name, and devices of one class are answered for together.
func Class(d *v1alpha1.Device) string { return d.Vendor + "-" + Noun(d) }

// Noun is the word for a device in the names of classes and resources: gpu, gaudi, npu. Where the vendor has a device plugin
// of its own, the word is taken from that plugin's resource (google.com/tpu, aws.amazon.com/neuron, habana.ai/gaudi,
// qualcomm.com/qaic). It is empty for a device without a family.
func Noun(d *v1alpha1.Device) string { return kindOf(d).Noun }

// sharedNodes returns the kind's shared nodes that the host has.
func (k *Kind) sharedNodes(files host.Files) []string {
	var nodes []string
	for _, name := range k.Shared {
		if files != nil && exists(files, name) {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

func exists(files host.Files, name string) bool {
	_, err := files.Stat(name)
	return err == nil
}
