// Package nvidia finds NVIDIA's GPUs, those of Jetson modules among them.
package nvidia

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
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
	functions, err := pci.Functions(h)
	gpus := listNVIDIA(h.Files, functions)
	if len(gpus) == 0 && hidesNVIDIA(h.Files) {
		found, hiddenErr := detectHiddenNVIDIA(ctx, h)
		return found, errors.Join(err, hiddenErr)
	}
	if len(gpus) == 0 {
		return backend.Found{}, err
	}
	report, problems := askNVIDIA(ctx, h, gpus)
	problems = append([]error{err}, problems...)
	version := cmp.Or(report.driverVersion, readNVIDIAVersion(h.Files))
	found := backend.Found{Readings: backend.Readings{}, Signs: map[v1alpha1.DeviceID]backend.Signs{}}
	for i := range gpus {
		gpu := &gpus[i]
		gpu.take(report.gpus[gpu.Address])
		gpu.fault = report.faults[gpu.Address]
		gpu.driverVersion, gpu.cudaVersion, gpu.othersReported = version, report.cudaVersion, report.answered()
		if gpu.integrated() {
			gpu.host, err = backend.ReadHostMemory(h.Files)
			problems = append(problems, err)
		}
		gpu.identify()
		gpu.readMIG(h.Files)
		gpu.list(&found)
		problems = append(problems, gpu.problem(report.answered()))
	}
	found.Links = nvidiaLinks(h.Files, functions, gpus)
	found.Degrade(problems...)
	return found, nil
}

// list adds the GPU's devices with what is read of them.
func (g *nvidiaGPU) list(found *backend.Found) {
	devices := g.devices()
	found.Devices = append(found.Devices, devices...)
	g.read(devices, found.Readings)
	for _, device := range devices {
		found.Signs[device.ID] = g.signs()
	}
}

// listNVIDIA picks the GPUs: display and 3D controllers. Audio, USB and serial functions of a card and NVSwitches have
// other classes. A virtual function on a vGPU host belongs to a guest.
func listNVIDIA(files host.Files, functions []pci.Function) []nvidiaGPU {
	var gpus []nvidiaGPU
	for _, function := range functions {
		if function.VendorID != nvidiaVendor || !strings.HasPrefix(function.Class, "03") || pci.IsVirtual(files, function) {
			continue
		}
		gpus = append(gpus, nvidiaGPU{Function: function, said: readNVIDIAProc(files, function.Address)})
	}
	return gpus
}
