package furiosa

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// furiosaStatus is an element of `furiosa-smi status --format json`.
type furiosaStatus struct {
	Device string `json:"device"`
	Memory struct {
		DRAM struct {
			Used  int64 `json:"used_size"`
			Total int64 `json:"total_size"`
		}
	} `json:"memory"`
	Cores []struct {
		Percent float64 `json:"pe_utilization"`
	} `json:"pe_utilizations"`
}

// queryFuriosaSMI returns the status of the NPUs by their kernel names. It is asked where one of the NPUs has a driver
// that it knows: not that of Warboy.
func queryFuriosaSMI(ctx context.Context, h *host.Host, npus []furiosaNPU) (map[string]furiosaStatus, error) {
	asked := false
	for i := range npus {
		asked = asked || npus[i].class == rngdClass && npus[i].name != ""
	}
	if !asked || h.Commands == nil {
		return nil, nil
	}
	result, err := host.Query(ctx, h, "", host.FuriosaStatus...)
	if err != nil || len(result.Stdout) == 0 {
		return nil, err
	}
	status, err := parseFuriosaStatus(result.Stdout)
	if err != nil {
		return nil, host.CommandError(host.FuriosaStatus, err)
	}
	return status, nil
}

func parseFuriosaStatus(output []byte) (map[string]furiosaStatus, error) {
	var list []furiosaStatus
	if err := json.Unmarshal(output, &list); err != nil {
		return nil, fmt.Errorf("is no list of NPUs: %w", err)
	}
	status := map[string]furiosaStatus{}
	for _, s := range list[:min(len(list), backend.MaxDevices)] {
		status[s.Device] = s
	}
	return status, nil
}

// add sets the memory and the load, where they are numbers that can be.
func (s furiosaStatus) add(device *v1alpha1.Device, reading *backend.Reading) {
	total, used := s.Memory.DRAM.Total>>20, s.Memory.DRAM.Used>>20
	if total > 0 && total <= backend.MaxMemoryMiB && used >= 0 && used <= total {
		device.Memory = &v1alpha1.DeviceMemory{TotalMiB: total, UsedByOthersMiB: backend.UsedInSteps(used, total), Source: v1alpha1.SourceDriver}
		reading.MemoryUsedMiB = &used
	}
	sum := 0.0
	for _, core := range s.Cores {
		sum += min(max(core.Percent, 0), 100)
	}
	if len(s.Cores) > 0 {
		reading.UtilizationPercent = backend.Percent(int64(sum / float64(len(s.Cores))))
	}
}
