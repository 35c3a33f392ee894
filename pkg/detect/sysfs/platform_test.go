package sysfs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// compatible is what a machine is compatible with whose device tree has the text.
func compatible(t *testing.T, text string) []string {
	t.Helper()
	recording := host.NewRecording()
	if err := recording.AddFile(DeviceTree+"/compatible", text); err != nil {
		t.Fatal(err)
	}
	return ReadMachine(recording.Host().Files)
}

func TestCompatible(t *testing.T) {
	for text, want := range map[string][]string{
		"apple,j316c\x00apple,t6001\x00apple,arm-platform\x00": {"apple,j316c", "apple,t6001", "apple,arm-platform"},
		"mediatek, mt6885-mdla\x00":                            {"mediatek,mt6885-mdla"},
		"no end":                                               {"no end"},
		"\x00\x00 \x00":                                        nil,
		"":                                                     nil,
	} {
		if diff := cmp.Diff(want, compatible(t, text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if got := compatible(t, strings.Repeat("a\x00", 1000)); len(got) != maxCompatible {
		t.Errorf("got %d entries", len(got))
	}
}

func FuzzCompatible(f *testing.F) {
	f.Add("apple,j316c\x00apple,t6001\x00apple,arm-platform\x00")
	f.Add("mediatek, mt6885-mdla\x00")
	f.Fuzz(func(t *testing.T, text string) {
		entries := compatible(t, text)
		for _, entry := range entries {
			if entry == "" || len(entry) > 128 || strings.Contains(entry, "\x00") {
				t.Errorf("%q: %q", text, entry)
			}
		}
	})
}
