package detect

import (
	"fmt"
	"path"
)

// Bounds of what a sensor can mean: anything else is a misread or unset register.
const (
	minTemperatureMilliC = -50_000
	maxTemperatureMilliC = 200_000
	maxPowerMicroW       = 10_000_000_000
)

// hwmonReading reads the first temperature and power that a driver shows by hwmon for the device at a sysfs folder
// (Documentation/hwmon/sysfs-interface: temp1_input in thousandths of a degree, power1_input in millionths of a watt).
func hwmonReading(files Files, folder string) Reading {
	var reading Reading
	numbers, err := readNumbered(files, path.Join(folder, "hwmon"), "hwmon")
	if err != nil || len(numbers) == 0 {
		return reading
	}
	own := path.Join(folder, "hwmon", fmt.Sprint("hwmon", numbers[0]))
	if milliC, ok := readBetween(files, path.Join(own, "temp1_input"), minTemperatureMilliC, maxTemperatureMilliC); ok {
		reading.TemperatureMilliC = &milliC
	}
	for _, name := range []string{"power1_input", "power1_average"} {
		if microW, ok := readBetween(files, path.Join(own, name), 0, maxPowerMicroW); ok {
			milliW := microW / 1000
			reading.PowerMilliW = &milliW
			break
		}
	}
	return reading
}

// readBetween reads a number; ok is false where there is none or it is outside the bounds.
func readBetween(files Files, name string, lowest, highest int64) (value int64, ok bool) {
	value, ok, err := readInt(files, name)
	return value, ok && err == nil && value >= lowest && value <= highest
}

// percent is a share in percent; nil where the number is none.
func percent(value int64) *int64 {
	if value < 0 || value > 100 {
		return nil
	}
	return &value
}
