package apple

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// detectMac lists what system_profiler says of the GPU and of the chip, which has a Neural Engine if it is one of
// Apple's. The kernel gives neither a name, so the ids count the GPUs, of which Apple's chips have one.
func detectMac(ctx context.Context, h *host.Host) (backend.Found, error) {
	const missing = "macOS shows its GPU to system_profiler only: let the agent run commands"
	if h.Commands == nil {
		return backend.Found{Degraded: missing, ErrorKind: v1alpha1.ErrorToolNotRun}, nil
	}
	profile, err := host.Ask(ctx, h, missing, parseMacProfile, "system_profiler", "SPHardwareDataType", "SPDisplaysDataType", "-json")
	if err != nil {
		return backend.Found{}, err
	}
	memoryMiB, memoryErr := readMacMemory(ctx, h)
	found := backend.Found{}
	found.Degrade(memoryErr)
	for i, gpu := range profile.gpus {
		device := macDevice(fmt.Sprint("gpu", i))
		describeAGX(&device, gpu.model, gpu.cores, memoryMiB)
		found.Devices = append(found.Devices, device)
	}
	if profile.neuralEngine() {
		device := macDevice("ane0")
		describeANE(&device, profile.chip)
		found.Devices = append(found.Devices, device)
	}
	return found, nil
}

func macDevice(name string) v1alpha1.Device {
	return v1alpha1.Device{
		ID: kind.ID(name), Vendor: kind.Vendor, Family: kind.Family, Backend: kind.Backend,
		Health: backend.NotMonitored("macOS says nothing of the device's health"),
	}
}

// readMacMemory asks the kernel for all memory.
func readMacMemory(ctx context.Context, h *host.Host) (int64, error) {
	return host.Ask(ctx, h, "", func(output []byte) (int64, error) {
		bytes, err := strconv.ParseInt(strings.TrimSpace(string(output)), 10, 64)
		if err != nil || bytes < 0 || bytes>>20 > backend.MaxMemoryMiB {
			return 0, fmt.Errorf("%q is no number of bytes", host.FirstLine(output))
		}
		return bytes >> 20, nil
	}, "sysctl", "-n", "hw.memsize")
}

// macProfile is what system_profiler says of a Mac.
type macProfile struct {
	chip string
	gpus []macGPU
}

// macGPU is one of Apple's own; cores is empty where it is not counted.
type macGPU struct{ model, cores string }

// maxMacGPUs is above what a Mac has.
const maxMacGPUs = 8

// neuralEngine says whether the chip has a Neural Engine that this system can use: a virtual machine cannot.
func (p *macProfile) neuralEngine() bool {
	return strings.HasPrefix(p.chip, "Apple M") && !strings.Contains(p.chip, "Virtual")
}

// parseMacProfile reads system_profiler's JSON. GPUs of other vendors, in older Macs, are passed over.
func parseMacProfile(output []byte) (macProfile, error) {
	var fields struct {
		Hardware []struct {
			Chip string `json:"chip_type"`
		} `json:"SPHardwareDataType"`
		Displays []struct {
			Name   string `json:"_name"`
			Model  string `json:"sppci_model"`
			Vendor string `json:"spdisplays_vendor"`
			Kind   string `json:"sppci_device_type"`
			Cores  string `json:"sppci_cores"`
		} `json:"SPDisplaysDataType"`
	}
	if err := json.Unmarshal(output, &fields); err != nil {
		return macProfile{}, err
	}
	if fields.Hardware == nil && fields.Displays == nil {
		return macProfile{}, errors.New("says nothing of hardware or displays")
	}
	var profile macProfile
	if len(fields.Hardware) > 0 {
		profile.chip = host.Clip(fields.Hardware[0].Chip, 128)
	}
	for _, display := range fields.Displays {
		isGPU := display.Kind == "" || display.Kind == "spdisplays_gpu"
		if strings.HasPrefix(display.Vendor, "sppci_vendor_Apple") && isGPU && len(profile.gpus) < maxMacGPUs {
			profile.gpus = append(profile.gpus, macGPU{model: cmp.Or(display.Model, display.Name), cores: display.Cores})
		}
	}
	return profile, nil
}
