// Package nvidia finds NVIDIA's GPUs, those of Jetson modules among them.
package nvidia

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// GPU finds the GPUs of NVIDIA on the PCI bus and in the driver's files under /proc, without running anything; their
// memory, health, MIG devices and links come from NVML by way of rankwright-nvml, else from nvidia-smi, matched by PCI
// address. A GPU in MIG mode is listed as its MIG devices.
//
// Where the driver is there and shows no GPU on PCI, as in the Windows Subsystem for Linux, those that it tells of are listed by
// their UUIDs. Memory of an integrated GPU (GB10, Thor) is the host's.
func GPU() backend.Backend { return backend.New(nvidiaName, detectGPUs) }

const (
	nvidiaName   = "nvidia"
	nvidiaDriver = "nvidia"
	nvidiaVendor = "10de"
)

func detectGPUs(ctx context.Context, h *host.Host) (backend.Found, error) {
	functions, err := pci.Matching(h, isNVIDIAGPU)
	if len(functions) == 0 && hidesNVIDIA(h.Files) {
		found, hiddenErr := detectHiddenNVIDIA(ctx, h)
		return found, errors.Join(err, hiddenErr)
	}
	found := backend.Found{}
	if len(functions) == 0 {
		return found, err
	}
	gpus := make([]nvidiaGPU, len(functions))
	for i, function := range functions {
		gpus[i] = nvidiaGPU{Function: function, said: readNVIDIAProc(h.Files, function.Address)}
	}
	report, problems := askNVIDIA(ctx, h, gpus)
	found.Degrade(append([]error{err}, problems...)...)
	version := cmp.Or(report.driverVersion, readNVIDIAVersion(h.Files))
	for i := range gpus {
		gpu := &gpus[i]
		gpu.take(report.gpus[gpu.Address])
		gpu.fault = report.faults[gpu.Address]
		gpu.driverVersion, gpu.cudaVersion, gpu.othersReported = version, report.cudaVersion, report.answered()
		if gpu.integrated() {
			gpu.host, err = backend.ReadHostMemory(h.Files)
			found.Degrade(err)
		}
		gpu.identify()
		gpu.readMIG(h.Files)
		gpu.list(&found)
		found.Degrade(gpu.problem(report.answered()))
	}
	found.Links = nvidiaLinks(h, gpus)
	return found, nil
}

// list adds the GPU's devices with what is read of them.
func (g *nvidiaGPU) list(found *backend.Found) {
	for _, device := range g.devices() {
		found.Add(device, g.reading(device.ID), g.signs())
	}
}

// isNVIDIAGPU says whether a function is a GPU: a display or 3D controller. Audio, USB and serial functions of a card and NVSwitches
// have other classes.
func isNVIDIAGPU(function pci.Function) bool {
	return function.VendorID == nvidiaVendor && strings.HasPrefix(function.Class, "03")
}
