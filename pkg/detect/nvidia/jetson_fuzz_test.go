package nvidia

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

func FuzzJetson(f *testing.F) {
	f.Add("nvidia,p3737-0000+p3701-0005\x00nvidia,tegra234\x00", "DRIVER=gk20a\nOF_COMPATIBLE_0=nvidia,ga10b\n", "# R36 (release), REVISION: 4.3, GCID: 1", "437")
	f.Add("nvidia,p2888-0004\x00nvidia,tegra194\x00", "OF_COMPATIBLE_0=nvidia,gv11b", "# R35 (release), REVISION: 6.1", "-1")
	f.Fuzz(func(t *testing.T, compatible, event, release, load string) {
		recording := host.NewRecording()
		for name, content := range map[string]string{
			"/proc/device-tree/compatible": compatible, "/etc/nv_tegra_release": release,
			"/sys/bus/platform/devices/17000000.gpu/uevent": event, "/sys/bus/platform/devices/17000000.gpu/load": load,
			"/sys/class/thermal/thermal_zone0/type": "GPU-therm", "/sys/class/thermal/thermal_zone0/temp": load,
		} {
			if err := recording.AddFile(name, content); err != nil {
				t.Skip(err)
			}
		}
		report, _ := Jetson().Detect(t.Context(), recording.Host())
		if len(report.Devices) > 1 {
			t.Errorf("%d devices", len(report.Devices))
		}
		for id, reading := range report.Readings {
			if u := reading.UtilizationPercent; u != nil && (*u < 0 || *u > 100) {
				t.Errorf("%s: %d %%", id, *u)
			}
			if c := reading.TemperatureMilliC; c != nil && (*c < 0 || *c > backend.MaxCelsius*1000) {
				t.Errorf("%s: %d m°C", id, *c)
			}
		}
	})
}
