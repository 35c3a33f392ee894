package nvidia_test

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// wsl is a distribution in the Windows Subsystem for Linux.
func wsl() *compose.Host {
	h := compose.New("WSL")
	h.File("/proc/meminfo", "MemTotal: 16384 kB")
	h.Device("/dev/dxg")
	h.File("/usr/lib/wsl/lib/libnvidia-ml.so.1", "")
	return h
}

// In the Windows Subsystem for Linux, nvidia-smi prints an address that the distribution does not show, and no minor number.
func TestNVIDIAUnderWSL(t *testing.T) {
	h := wsl()
	h.Command(strings.Replace(smiReport(smiGPU("00000000:01:00.0", "")), "<minor_number>0", "<minor_number>N/A", 1), "nvidia-smi", "-q", "-x")
	d := compose.OnlyDevice(t, detectGPUs(t, h.Replay(t)))
	if d.ID != "nvidia-"+v1alpha1.DeviceID(d.UUID) || d.PCI != nil || d.Health.State != v1alpha1.Healthy || len(d.Paths) != 1 || d.Paths[0] != "/dev/dxg" {
		t.Errorf("%+v", d)
	}
	if d.Product != "NVIDIA H100 80GB HBM3" || d.Memory == nil || d.Memory.TotalMiB != 81559 || d.Performance == nil {
		t.Errorf("%+v, memory %+v", d, d.Memory)
	}
}

// Where nobody may ask, nothing is known of GPUs that no bus shows: that is a failure, not their absence.
func TestHiddenGPUsNeedATool(t *testing.T) {
	tools := wsl()
	tools.AllowCommands()
	silent := wsl()
	silent.Command("No devices were found\n", "nvidia-smi", "-q", "-x")
	nonsense := wsl()
	nonsense.Command(strings.Replace(smiReport(smiGPU("00000000:01:00.0", "")), "<uuid>GPU-", "<uuid>X-", 1), "nvidia-smi", "-q", "-x")
	for name, test := range map[string]struct {
		host *host.Host
		want v1alpha1.BackendState
		says string
	}{
		"no command may be run": {&host.Host{Files: wsl().Replay(t).Files}, v1alpha1.BackendFailed, "allow the agent to run"},
		"no tool is installed":  {tools.Replay(t), v1alpha1.BackendFailed, "command not found"},
		"the tool says nothing": {silent.Replay(t), v1alpha1.BackendFailed, "nvidia-smi"},
		"no UUID":               {nonsense.Replay(t), v1alpha1.BackendDegraded, "which is none"},
		"no driver":             {compose.New("bare").Replay(t), v1alpha1.BackendAbsent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status := detectGPUs(t, test.host)
			b := status.Backends[0]
			if len(status.Devices) != 0 || b.State != test.want || !strings.Contains(b.Message, test.says) {
				t.Errorf("%d devices, %+v, want %s and %q", len(status.Devices), b, test.want, test.says)
			}
		})
	}
}
