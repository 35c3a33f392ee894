package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// sensed are three devices with readings: a busy one, a cool one, and a broken one that says nothing.
func sensed() ([]v1alpha1.Device, backend.Readings) {
	device := func(id v1alpha1.DeviceID, state v1alpha1.HealthState) v1alpha1.Device {
		return v1alpha1.Device{ID: id, Memory: &v1alpha1.DeviceMemory{TotalMiB: 81920}, Health: v1alpha1.DeviceHealth{State: state}}
	}
	broken := device("nvidia-2", v1alpha1.Unhealthy)
	broken.Health.Reason = "Xid79"
	return []v1alpha1.Device{device("nvidia-0", v1alpha1.Healthy), device("nvidia-1", v1alpha1.Healthy), broken}, backend.Readings{
		"nvidia-0": {
			MemoryUsedMiB: new(int64(73728)), TemperatureMilliC: new(int64(84_500)), PowerMilliW: new(int64(699_900)), UtilizationPercent: new(int64(100)),
		},
		"nvidia-1": {
			MemoryUsedMiB: new(int64(8192)), TemperatureMilliC: new(int64(31_000)), PowerMilliW: new(int64(70_000)), UtilizationPercent: new(int64(0)),
		},
	}
}

func TestAlerts(t *testing.T) {
	tests := map[string][]string{
		"memoryUsed>89%":     {"nvidia-0 has 90.0%"},
		"memoryused >= 90 %": {"nvidia-0 has 90.0%"},
		"memoryUsed>90%":     nil,
		"memoryUsed>80GB":    nil,
		"memoryUsed>=72GiB":  {"nvidia-0 has 72.0 GiB"},
		"memoryUsed<8193MiB": {"nvidia-1 has 8.0 GiB"},
		"temperature>84":     {"nvidia-0 has 84.5 C"},
		"temperature<=31C":   {"nvidia-1 has 31.0 C"},
		"power>=699.9W":      {"nvidia-0 has 699.9 W"},
		"power != 70":        {"nvidia-0 has 699.9 W"},
		"utilization==0%":    {"nvidia-1 has 0%"},
		"utilization>99":     {"nvidia-0 has 100%"},
		"healthy<3":          {"2 devices healthy", "nvidia-2 is Unhealthy Xid79"},
		"healthy=2":          {"2 devices healthy", "nvidia-2 is Unhealthy Xid79"},
		"healthy<2":          nil,
		"devices!=4":         {"3 devices there", "nvidia-2 is Unhealthy Xid79"},
		"devices<3":          nil,
	}
	devices, readings := sensed()
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			a, err := parseAlert(text)
			if err != nil {
				t.Fatal(err)
			}
			result := a.check(withReadings(devices, readings))
			if diff := cmp.Diff(want, result.met); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if a.field.count == nil {
				if diff := cmp.Diff([]v1alpha1.DeviceID{"nvidia-2"}, result.unknown); diff != "" || result.known != 2 {
					t.Errorf("%d known, unknown (-want +got):\n%s", result.known, diff)
				}
			}
		})
	}
}

func TestAShareOfUnknownMemoryIsUnknown(t *testing.T) {
	a, err := parseAlert("memoryUsed>0%")
	if err != nil {
		t.Fatal(err)
	}
	readings := backend.Readings{"x": {MemoryUsedMiB: new(int64(5))}, "y": {MemoryUsedMiB: new(int64(5))}}
	devices := []v1alpha1.Device{{ID: "x"}, {ID: "y", Memory: &v1alpha1.DeviceMemory{}}}
	if result := a.check(withReadings(devices, readings)); result.known != 0 || len(result.unknown) != 2 || len(result.met) != 0 {
		t.Errorf("%+v", result)
	}
}

func TestErrorsOfAlerts(t *testing.T) {
	tests := map[string]string{
		"":                  "position 1: no field",
		"memoryUsed":        `position 11: no operator after "memoryUsed": write one of > >= < <= == !=`,
		"memoryUsed>":       "position 12: no value",
		"memoryUsed>90":     `position 12: value "90" of memoryUsed: write a decimal number with a unit of %, MB, MiB, GB, GiB, TB, TiB`,
		"memryUsed>90%":     `position 1: unknown field "memryUsed": use one of devices, healthy, memoryUsed, power, temperature, utilization`,
		"memoryUsed~90%":    "position 11: operator ~ does not go with memoryUsed: use one of > >= < <= == !=",
		"temperature>80F":   `position 13: value "80F" of temperature: write a decimal number with no unit or with C`,
		"healthy<eight":     "position 9: value \"eight\" of healthy: write a decimal number with no unit",
		"power>-1":          `position 7: value "-1"`,
		"utilization >>90%": `position 14: value ">90%"`,
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			if _, err := parseAlert(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

func FuzzParseAlert(f *testing.F) {
	for _, text := range []string{"memoryUsed>90%", "memoryUsed>=1.5GiB", "temperature>85C", "power<700W", "utilization==0", "healthy!=8", "devices<", "x"} {
		f.Add(text)
	}
	devices, readings := sensed()
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAlert(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "position ") {
				t.Errorf("%q: no position in %v", text, err)
			}
			return
		}
		a.check(withReadings(devices, readings))
	})
}
