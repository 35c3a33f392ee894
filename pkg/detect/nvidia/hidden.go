package nvidia

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// wslNode is the one node by which the Windows Subsystem for Linux shows all GPUs of its Windows (Microsoft and NVIDIA, CUDA on
// WSL User Guide). It shows no PCI bus with them, and no minor numbers.
const wslNode = "/dev/dxg"

// hidesNVIDIA says whether NVIDIA's driver is there though its GPUs are on no PCI bus of the host: in the Windows Subsystem for
// Linux, and where the GPU is a part of a Tegra and not the jetson backend's.
func hidesNVIDIA(files host.Files) bool {
	if host.Exists(files, wslNode) && host.Exists(files, path.Join(host.WSLFolder, "libnvidia-ml.so.1")) {
		return true
	}
	if !host.Exists(files, path.Join(nvidiaProcFolder, "version")) {
		return false
	}
	compatible, _ := sysfs.ReadStrings(files, path.Join(sysfs.DeviceTree, "compatible"))
	_, tegra := tegraOf(compatible)
	integrated, _ := tegraGPUs(files)
	return tegra && len(integrated) == 0
}

// nvidiaUUID matches a whole GPU's.
var nvidiaUUID = regexp.MustCompile(`^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// detectHiddenNVIDIA lists the GPUs that the driver tells of by their UUIDs.
func detectHiddenNVIDIA(ctx context.Context, h *host.Host) (backend.Found, error) {
	if h.Commands == nil {
		return backend.Found{}, errors.New("NVIDIA's driver is there and none of its GPUs on a PCI bus: only its tools list them, allow the agent to run rankwright-nvml or nvidia-smi")
	}
	report, problems := askHiddenNVIDIA(ctx, h)
	if !report.answered() {
		return backend.Found{}, errors.Join(problems...)
	}
	var nodes []string
	if host.Exists(h.Files, wslNode) {
		nodes = []string{wslNode}
	}
	memory, err := backend.ReadHostMemory(h.Files)
	found := backend.Found{}
	found.Degrade(append(problems, err)...)
	for _, key := range slices.Sorted(maps.Keys(report.gpus)) {
		gpu := nvidiaGPU{driverVersion: report.driverVersion, cudaVersion: report.cudaVersion, host: memory, shared: nodes}
		gpu.VendorID, gpu.Driver = nvidiaVendor, nvidiaDriver
		gpu.take(report.gpus[key])
		if !nvidiaUUID.MatchString(gpu.said.UUID) {
			found.Degrade(fmt.Errorf("the driver tells of a GPU with UUID %q, which is none: it cannot be listed", host.Clip(gpu.said.UUID, 64)))
			continue
		}
		gpu.identify()
		gpu.list(&found)
	}
	return found, nil
}

// askHiddenNVIDIA asks NVML, then nvidia-smi where that knows of no GPU.
func askHiddenNVIDIA(ctx context.Context, h *host.Host) (nvidiaReport, []error) {
	report, err := queryNVML(ctx, h)
	if report.answered() {
		return report, []error{err}
	}
	printed, _, smiErr := runSMI(ctx, h)
	report.fill(printed)
	return report, []error{err, smiErr}
}
