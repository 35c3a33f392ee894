package main

import (
	"fmt"
	"path"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// amdHost is a host with GPUs of AMD.
type amdHost struct {
	// Driver is the version of amdgpu where it is a package of its own; empty where it is the kernel's.
	Driver string
	// Sockets is the number of KFD nodes of processors, CPUCores what KFD counts in each.
	Sockets, CPUCores int
	// CPULink is the way from a GPU to its processor, XGMIMBps the rate of one XGMI link.
	CPULink  kfdLink
	XGMIMBps int
	GPUs     []amdGPU
	// XGMI is the number of links and of hops between two GPUs, by their places in the list; nil where nothing joins them.
	XGMI func(a, b int) (links, hops int)
	// Closed says that no node of the KFD topology can be read, as in a container that may open no render node.
	Closed bool
}

// amdGPU is a GPU as amdgpu and KFD show it.
type amdGPU struct {
	compose.Function
	// Product is empty where the board's memory of its name cannot be read, as on virtual functions.
	Product, VBIOS string
	// Compute and Memory are the partition modes; empty where the GPU has none.
	Compute, Memory string
	UniqueID, Hive  uint64
	// Bytes is the memory that amdgpu reports, Banks what KFD reports where amdgpu has none.
	Bytes, Banks, UsedMiB int
	// Socket is the KFD node of its processor.
	Socket int
	// Card and Render are the GPU's minors; its partitions have the minors that follow.
	Card, Render int
	Partitions   int
	// Spare is the number of device nodes that amdgpu makes for partitions that the mode does not have.
	Spare int
	// GFX, SIMDs, Dies, Width and Clock are what KFD says of the processor and of its memory.
	GFX, SIMDs, Dies, Width, Clock int
}

func (g amdGPU) parts() int { return max(1, g.Partitions) }

// addAMD adds the GPUs to the bus, amdgpu's files beside them, their device nodes and the KFD topology.
func addAMD(h *compose.Host, host amdHost) {
	if host.Driver != "" {
		h.File("/sys/module/amdgpu/version", host.Driver)
	}
	h.Device("/dev/kfd")
	platform := 0
	for i, gpu := range host.GPUs {
		gpu.Extra = host.files(i)
		h.PCI(gpu.Function)
		addDRM(h, gpu.Folder(), fmt.Sprint("card", gpu.Card), fmt.Sprint("renderD", gpu.Render))
		for part := 1; part < gpu.parts()+gpu.Spare; part++ {
			folder := fmt.Sprint("/sys/devices/platform/amdgpu_xcp_", platform)
			addDRM(h, folder, fmt.Sprint("card", gpu.Card+part), fmt.Sprint("renderD", gpu.Render+part))
			platform++
		}
	}
	if host.Closed {
		h.File(kfdTopology+"/generation_id", "1")
		return
	}
	addKFDTopology(h, host)
}

// files are amdgpu's, by their names in the function's folder.
func (host amdHost) files(i int) map[string]string {
	gpu := host.GPUs[i]
	files := map[string]string{
		"mem_info_vram_total": fmt.Sprint(gpu.Bytes),
		"mem_info_vram_used":  fmt.Sprint(gpu.UsedMiB << 20),
	}
	for name, value := range map[string]string{
		"product_name": gpu.Product, "vbios_version": gpu.VBIOS,
		"current_compute_partition": gpu.Compute, "current_memory_partition": gpu.Memory,
	} {
		if value != "" {
			files[name] = value
		}
	}
	if gpu.UniqueID != 0 {
		files["unique_id"] = fmt.Sprintf("%016x", gpu.UniqueID)
		files["ras/umc_err_count"] = "ue: 0\nce: 0"
	}
	if gpu.Hive != 0 {
		files["xgmi_hive_info/xgmi_hive_id"] = fmt.Sprint(gpu.Hive)
		var hops strings.Builder
		for j := range host.GPUs {
			fmt.Fprintf(&hops, "%02x ", host.hops(i, j))
		}
		files["xgmi_num_hops"] = hops.String()
	}
	return files
}

func (host amdHost) hops(a, b int) int {
	if a == b || host.XGMI == nil {
		return 0
	}
	_, hops := host.XGMI(a, b)
	return hops
}

// fullMesh joins all GPUs by so many links.
func fullMesh(links int) func(a, b int) (int, int) {
	return func(int, int) (int, int) { return links, 1 }
}

// addDRM adds device nodes of a function at a folder, by their names in the DRM class.
func addDRM(h *compose.Host, folder string, names ...string) {
	for _, name := range names {
		node := path.Join(folder, "drm", name)
		h.Member("drm", node)
		h.Device("/dev/dri/" + name)
	}
}
