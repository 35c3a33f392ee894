package nvmltest

import (
	"fmt"
	"strconv"

	"github.com/rankwright/rankwright/internal/nvml/report"
)

// scenarios are the hosts that Library plays.
var scenarios = map[string]func() Facts{
	"nvswitch":    func() Facts { return FactsOf(switched()) },
	"pair":        pair,
	"mig":         partitioned,
	"no-driver":   func() Facts { return Facts{"fault.init": strconv.Itoa(report.CodeDriverNotLoaded)} },
	"hang":        func() Facts { return Facts{"fault.init": Hang} },
	"hang-gpu":    func() Facts { return two("fault.gpu1", Hang) },
	"crash":       func() Facts { return two("fault.gpu0", Crash) },
	"lost":        func() Facts { return two("fault.gpu1", strconv.Itoa(report.CodeGPULost)) },
	"lost-handle": func() Facts { return two("fault.handle1", strconv.Itoa(report.CodeGPULost)) },
}

// host has GPUs whose numbers run against the order of their addresses, as drivers may number them.
func host(count int, product report.GPU, totalMiB int64) report.Host {
	buses := []int{0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf}
	h := report.Host{DriverVersion: "580.105.08", CUDAVersion: "13.0"}
	for i := range count {
		g, place := product, count-1-i
		g.PCI, g.Minor = fmt.Sprintf("0000:%02x:00.0", buses[place]), new(int32(place))
		g.UUID, g.VBIOS = fmt.Sprintf("GPU-%08d-0000-0000-0000-000000000000", i), "96.00.A5.00.01"
		g.Memory = &report.Memory{TotalMiB: totalMiB, UsedMiB: int64(1200 + i), ReservedMiB: new(int64(480))}
		g.TemperatureC, g.PowerMilliW, g.PersistenceMode = new(int64(34)), new(int64(70120)), new(true)
		g.UtilizationPercent, g.RecoveryAction = new(int64(42)), new(int64(0))
		g.ECC = &report.ECC{Enabled: true, AggregateUncorrectable: new(int64(3)), SRAMThresholdExceeded: new(false)}
		g.RemappedRows = &report.RemappedRows{Correctable: 1, Uncorrectable: 2}
		h.GPUs = append(h.GPUs, g)
	}
	return h
}

func h100s(count int) report.Host {
	return host(count, report.GPU{Name: "NVIDIA H100 80GB HBM3", Architecture: "Hopper", ComputeCapability: "9.0", MIG: &report.MIG{}}, 81559)
}

// switched has 8 GPUs on switches; one link of one GPU is down.
func switched() report.Host {
	h := h100s(8)
	for i := range h.GPUs {
		g := &h.GPUs[i]
		g.Fabric = &report.Fabric{State: report.FabricCompleted, ClusterUUID: "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf", Clique: new(int64(5)), Unhealthy: new(false)}
		for link := range 18 {
			g.NVLinks = append(g.NVLinks, report.NVLink{
				Index: link, Active: i != 0 || link != 17, Version: "4.0", Remote: report.RemoteSwitch, MBps: 26562,
				RemotePCI: fmt.Sprintf("0000:%02x:00.0", 5+link%4),
			})
		}
	}
	return h
}

// pair has 2 cards with a bridge between them.
func pair() Facts {
	h := host(2, report.GPU{Name: "NVIDIA RTX A6000", Architecture: "Ampere", ComputeCapability: "8.6"}, 49140)
	for i := range h.GPUs {
		for link := range 4 {
			h.GPUs[i].NVLinks = append(h.GPUs[i].NVLinks, report.NVLink{
				Index: link, Active: true, Version: "3.1", Remote: report.RemoteGPU, MBps: 14062, RemotePCI: h.GPUs[1-i].PCI,
			})
		}
	}
	return FactsOf(h)
}

func two(key, fault string) Facts {
	f := FactsOf(h100s(2))
	f[key] = fault
	return f
}

// partitioned has a GPU with two MIG devices, whose numbers have gaps. One is not named by its profile.
func partitioned() Facts {
	h := h100s(1)
	h.GPUs[0].UtilizationPercent = nil
	f := FactsOf(h)
	f["gpu0.mig"] = "1 1"
	for place, device := range map[string]map[string]string{
		"1": {"instances": "2 0", "memory": "40448 2048 0", "slices": "3 3", "name": "NVIDIA H100 80GB HBM3 MIG 3g.40gb", "uuid": "MIG-00000002-0000-0000-0000-000000000000"},
		"4": {"instances": "9 1", "memory": "20096 0 0", "slices": "2 1", "name": "NVIDIA H100 80GB HBM3", "uuid": "MIG-00000009-0000-0000-0000-000000000000"},
	} {
		for key, value := range device {
			f["gpu0.mig"+place+"."+key] = value
		}
	}
	return f
}
