package backend

import (
	"fmt"
	"path"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Bounds of what a sensor can mean: anything else is a misread or unset register.
const (
	minTemperatureMilliC = -50_000
	MaxTemperatureMilliC = 200_000
	MaxPowerMicroW       = 10_000_000_000
)

// ReadHwmon reads the first temperature and power that a driver shows by hwmon for the device at a sysfs folder
// (Documentation/hwmon/sysfs-interface: temp1_input in thousandths of a degree, power1_input in millionths of a watt).
func ReadHwmon(files host.Files, folder string) (Reading, Signs) {
	var reading Reading
	var signs Signs
	numbers, err := host.ReadNumbered(files, path.Join(folder, "hwmon"), "hwmon")
	if err != nil || len(numbers) == 0 {
		return reading, signs
	}
	own := path.Join(folder, "hwmon", fmt.Sprint("hwmon", numbers[0]))
	if milliC, ok := host.ReadBetween(files, path.Join(own, "temp1_input"), minTemperatureMilliC, MaxTemperatureMilliC); ok {
		reading.TemperatureMilliC = &milliC
		signs.Suspicions = overheated(files, own, milliC)
	}
	for _, name := range []string{"power1_input", "power1_average"} {
		if microW, ok := host.ReadBetween(files, path.Join(own, name), 0, MaxPowerMicroW); ok {
			reading.PowerMilliW = new(microW / 1000)
			break
		}
	}
	return reading, signs
}

// overheated compares the temperature with the one that the driver calls critical (temp1_crit), if it does.
func overheated(files host.Files, monitor string, milliC int64) []v1alpha1.DeviceHealth {
	critical, ok := host.ReadBetween(files, path.Join(monitor, "temp1_crit"), 1, MaxTemperatureMilliC)
	if !ok || milliC < critical {
		return nil
	}
	return []v1alpha1.DeviceHealth{Degraded(reasonOverheated,
		fmt.Sprintf("the device has %d degrees Celsius, critical are %d: look at its cooling", milliC/1000, critical/1000))}
}
