package nvidia_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/nvidia"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// jetsonHost is a host with a Tegra processor and its GPU's platform device.
func jetsonHost(compatible, gpu, uevent string) *compose.Host {
	h := compose.New("Jetson")
	h.Keep(h.AddFile("/proc/device-tree/compatible", compatible))
	h.Keep(h.AddFile("/proc/device-tree/model", "NVIDIA Jetson AGX Orin Developer Kit\x00"))
	h.File("/proc/meminfo", "MemTotal:       64349184 kB")
	h.File("/proc/sys/kernel/osrelease", "5.15.148-tegra")
	folder := "/sys/devices/platform/bus@0/" + gpu
	h.File(folder+"/uevent", uevent)
	h.Link("/sys/bus/platform/devices/"+gpu, "../../../devices/platform/bus@0/"+gpu)
	h.Folder("/sys/bus/platform/devices/13e00000.host1x")
	return h
}

const (
	orin64    = "nvidia,p3737-0000+p3701-0005\x00nvidia,p3701-0005\x00nvidia,tegra234\x00"
	orinGPU   = "17000000.gpu"
	orinEvent = "DRIVER=gk20a\nOF_NAME=gpu\nOF_FULLNAME=/bus@0/gpu@17000000\nOF_COMPATIBLE_0=nvidia,ga10b\nOF_COMPATIBLE_N=1"
)

func detectJetson(t testing.TB, h *host.Host) detect.Report {
	t.Helper()
	return detect.Detect(t.Context(), h, detect.Options{Backends: []backend.Backend{nvidia.Jetson(), nvidia.GPU()}})
}

func TestJetsonOrin(t *testing.T) {
	h := jetsonHost(orin64, orinGPU, orinEvent)
	folder := "/sys/devices/platform/bus@0/" + orinGPU
	h.File(folder+"/load", "437")
	h.File("/etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed Jan  8 01:49:37 UTC 2025")
	h.Files("/sys/class/thermal/thermal_zone0", map[string]string{"type": "cpu-thermal", "temp": "49000"})
	h.Files("/sys/class/thermal/thermal_zone1", map[string]string{"type": "gpu-thermal", "temp": "44531"})
	for _, name := range []string{"/dev/nvgpu/igpu0/ctrl", "/dev/nvgpu/igpu0/channel", "/dev/nvmap", "/dev/nvhost-gpu"} {
		h.Device(name)
	}
	report := detectJetson(t, h.Replay(t))
	if len(report.Status.Devices) != 1 {
		t.Fatalf("%+v", report.Status)
	}
	got := report.Status.Devices[0]
	if got.Performance == nil || got.Performance.MemoryBandwidthMBps != 204800 {
		t.Errorf("performance %+v", got.Performance)
	}
	got.Performance = nil
	want := v1alpha1.Device{
		ID: "nvidia-17000000.gpu", Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Backend: "jetson",
		Product: "Jetson AGX Orin 64GB", Architecture: "Ampere", ComputeCapability: "8.7",
		Driver: "gk20a", DriverVersion: "36.4.3",
		ComputeUnits: 16,
		Paths:        []string{"/dev/nvgpu/igpu0/channel", "/dev/nvgpu/igpu0/ctrl", "/dev/nvmap"},
		Memory:       &v1alpha1.DeviceMemory{TotalMiB: 62841, Source: v1alpha1.SourceKernel, Shared: &v1alpha1.SharedMemory{HostMiB: 62841}},
		Health: v1alpha1.DeviceHealth{
			State: v1alpha1.Unknown, Reason: v1alpha1.ReasonNotMonitored,
			Message: "no more is seen of the device than that it can be opened: neither its driver nor its bus shows how it is",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	reading := report.Readings[got.ID]
	if reading.UtilizationPercent == nil || *reading.UtilizationPercent != 43 || reading.TemperatureMilliC == nil || *reading.TemperatureMilliC != 44531 || reading.MemoryUsedMiB != nil {
		t.Errorf("%+v", reading)
	}
}

func TestJetsonModulesAndDrivers(t *testing.T) {
	const nvgpu = "DRIVER=gk20a\nOF_COMPATIBLE_0="
	tests := map[string]struct {
		compatible, gpu, uevent string
		node                    string
		want                    string
	}{
		"Xavier of an older release": {
			"nvidia,p2972-0000\x00nvidia,p2888-0004\x00nvidia,tegra194\x00", "17000000.gv11b", nvgpu + "nvidia,gv11b", "/dev/nvhost-gpu",
			"nvidia-17000000.gv11b|Jetson AGX Xavier 32GB|Volta 7.2|Unknown NotMonitored",
		},
		"Nano": {
			"nvidia,p3449-0000-b00+p3448-0000-b00\x00nvidia,jetson-nano\x00nvidia,tegra210\x00", "57000000.gpu", nvgpu + "nvidia,tegra210-gm20b\nOF_COMPATIBLE_1=nvidia,gm20b", "/dev/nvhost-gpu",
			"nvidia-57000000.gpu|Jetson Nano|Maxwell 5.3|Unknown NotMonitored",
		},
		"a module that is not known": {
			"vendor,board\x00nvidia,p3701-0099\x00nvidia,tegra234\x00", orinGPU, orinEvent, "/dev/nvhost-gpu",
			"nvidia-17000000.gpu|NVIDIA Jetson AGX Orin Developer Kit|Ampere 8.7|Unknown NotMonitored",
		},
		"no driver": {
			orin64, orinGPU, "OF_COMPATIBLE_0=nvidia,ga10b", "",
			"nvidia-17000000.gpu|Jetson AGX Orin 64GB|Ampere 8.7|Unknown DriverMissing",
		},
		"a driver without nodes": {
			orin64, orinGPU, orinEvent, "/dev/nvmap",
			"nvidia-17000000.gpu|Jetson AGX Orin 64GB|Ampere 8.7|Unknown DeviceNodeMissing",
		},
		"no GPU by the device tree": {orin64, orinGPU, "DRIVER=gk20a\nOF_COMPATIBLE_0=vendor,fan", "/dev/nvhost-gpu", ""},
		"not of NVIDIA":             {"raspberrypi,5-model-b\x00brcm,bcm2712\x00", orinGPU, orinEvent, "/dev/nvhost-gpu", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := jetsonHost(test.compatible, test.gpu, test.uevent)
			if test.node != "" {
				h.Device(test.node)
			}
			got := ""
			for _, d := range detectJetson(t, h.Replay(t)).Status.Devices {
				got += strings.Join([]string{string(d.ID), d.Product, d.Architecture + " " + d.ComputeCapability, string(d.Health.State) + " " + d.Health.Reason}, "|")
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// Thor's GPU is on PCI: it is listed once, by the nvidia backend.
func TestJetsonThorIsOnPCI(t *testing.T) {
	h := jetsonHost("nvidia,p3971-0000+p3834-0008\x00nvidia,p3834-0008\x00nvidia,tegra264\x00", "81000000.host1x", "DRIVER=host1x")
	h.PCI(compose.GPUAt("0000:01:00.0", "10de:2b00 10de:0000"))
	status := detectJetson(t, h.Replay(t)).Status
	if len(status.Devices) != 1 || status.Devices[0].Backend != "nvidia" {
		t.Errorf("%+v", status.Devices)
	}
}
