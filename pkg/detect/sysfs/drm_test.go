package sysfs

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

func TestParseIndex(t *testing.T) {
	for digits, want := range map[string]int{
		"0": 0, "10": 10, "2147483647": 2147483647,
		"": -1, "01": -1, "+1": -1, "-1": -1, "1-DP-1": -1, "2147483648": -1, "٣": -1,
	} {
		got, ok := host.ParseIndex(digits)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("parseIndex(%q) = %d, %v; want %d", digits, got, ok, want)
		}
	}
}
