package apple

import (
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
	result, err := host.Query(ctx, h, missing, "system_profiler", "SPHardwareDataType", "SPDisplaysDataType", "-json")
	if err != nil {
		return backend.Found{}, err
	}
	profile, err := parseMacProfile(result.Stdout)
	if err != nil {
		return backend.Found{}, err
	}
	memoryMiB, memoryErr := readMacMemory(ctx, h)
	found := backend.Found{}
	found.Degrade(memoryErr)
	for i, gpu := range profile.gpus {
		device := v1alpha1.Device{ID: v1alpha1.DeviceID(fmt.Sprint(appleVendor, "-gpu", i)), Health: macHealth()}
		describeAGX(&device, gpu.model, gpu.cores, memoryMiB)
		found.Devices = append(found.Devices, device)
	}
	if profile.neuralEngine() {
		device := v1alpha1.Device{ID: appleVendor + "-ane0", Health: macHealth()}
		describeANE(&device, profile.chip)
		found.Devices = append(found.Devices, device)
	}
	return found, nil
}

func macHealth() v1alpha1.DeviceHealth {
	return backend.NotMonitored("macOS says nothing of the device's health")
}

// readMacMemory asks the kernel for all memory.
func readMacMemory(ctx context.Context, h *host.Host) (int64, error) {
	result, err := host.Query(ctx, h, "", "sysctl", "-n", "hw.memsize")
	if err != nil || len(result.Stdout) == 0 {
		return 0, err
	}
	bytes, err := strconv.ParseInt(strings.TrimSpace(string(result.Stdout)), 10, 64)
	if err != nil || bytes < 0 || bytes>>20 > backend.MaxMemoryMiB {
		return 0, fmt.Errorf("sysctl hw.memsize: %q is no number of bytes", host.Clip(host.FirstLine(result.Stdout, nil), 64))
	}
	return bytes >> 20, nil
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
		return macProfile{}, fmt.Errorf("system_profiler -json: %w", err)
	}
	if fields.Hardware == nil && fields.Displays == nil {
		return macProfile{}, errors.New("system_profiler -json: says nothing of hardware or displays")
	}
	var profile macProfile
	if len(fields.Hardware) > 0 {
		profile.chip = host.Clip(fields.Hardware[0].Chip, 128)
	}
	for _, display := range fields.Displays {
		isGPU := display.Kind == "" || display.Kind == "spdisplays_gpu"
		if strings.HasPrefix(display.Vendor, "sppci_vendor_Apple") && isGPU && len(profile.gpus) < maxMacGPUs {
			model := display.Model
			if model == "" {
				model = display.Name
			}
			profile.gpus = append(profile.gpus, macGPU{model: host.Clip(model, 128), cores: host.Clip(display.Cores, 8)})
		}
	}
	return profile, nil
}
