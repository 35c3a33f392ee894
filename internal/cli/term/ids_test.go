package term

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestIDs(t *testing.T) {
	for want, list := range map[string][]v1alpha1.DeviceID{
		"":                                {},
		"nvidia-0000:1b:00.0":             {"nvidia-0000:1b:00.0"},
		"nvidia-0000:{1b,2b,9d}:00.0":     {"nvidia-0000:1b:00.0", "nvidia-0000:2b:00.0", "nvidia-0000:9d:00.0"},
		"nvidia-{0000,0001}:01:00.0":      {"nvidia-0000:01:00.0", "nvidia-0001:01:00.0"},
		"nvidia-0000:1b:00.0-{mig1,mig2}": {"nvidia-0000:1b:00.0-mig1", "nvidia-0000:1b:00.0-mig2"},
		"google-{accel0,accel1}":          {"google-accel0", "google-accel1"},
		"a b":                             {"a", "b"},
	} {
		if got := IDs(list); got != want {
			t.Errorf("ids(%q) = %q, want %q", list, got, want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1_234_567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		if got := Grouped(n); got != want {
			t.Errorf("grouped(%d) = %q, want %q", n, got, want)
		}
	}
}
