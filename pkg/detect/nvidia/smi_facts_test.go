package nvidia

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/backend"
)

func TestSMINumbers(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	tests := []struct {
		text, unit string
		scale      float64
		bound      int64
		want       *int64
	}{
		{"68.92 W", " W", 1000, backend.MaxMilliWatts, number(68920)},
		{" 34 C\n", " C", 1000, backend.MaxCelsius * 1000, number(34000)},
		{"0 %", " %", 1, 100, number(0)},
		{"101 %", " %", 1, 100, nil},
		{"-5 C", " C", 1000, backend.MaxCelsius * 1000, nil},
		{"900 C", " C", 1000, backend.MaxCelsius * 1000, nil},
		{"N/A", " W", 1000, backend.MaxMilliWatts, nil},
		{"NaN W", " W", 1000, backend.MaxMilliWatts, nil},
		{"1e300 W", " W", 1000, backend.MaxMilliWatts, nil},
		{"34", " C", 1000, backend.MaxCelsius * 1000, nil},
		{"", " C", 1000, backend.MaxCelsius * 1000, nil},
	}
	for _, test := range tests {
		got := smiNumber(test.text, test.unit, test.scale, test.bound)
		if (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
			t.Errorf("%q: %v, want %v", test.text, got, test.want)
		}
	}
}

// Drivers put the power in other elements from release to release.
func TestSMIPower(t *testing.T) {
	tests := map[string]smiGPU{
		"now":          {PowerInstant: "68.92 W", PowerAverage: "70 W"},
		"on average":   {PowerInstant: "N/A", PowerAverage: "68.92 W"},
		"one number":   {PowerDraw: "68.92 W"},
		"an older one": {PowerOld: "68.92 W"},
	}
	for name, gpu := range tests {
		if got := gpu.facts().PowerMilliW; got == nil || *got != 68920 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
