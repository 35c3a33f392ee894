package hailo

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/pci"
)

func FuzzHailo(f *testing.F) {
	f.Add("Executing on device: 0001:01:00.0\nFirmware Version: 4.20.0 (release)\nDevice Architecture: HAILO8L\nSerial Number: HL1\n")
	f.Fuzz(func(t *testing.T, text string) {
		for address, board := range parseHailo(text) {
			if !pci.IsAddress(address) || strings.Contains(board["Serial Number"], "N/A") {
				t.Errorf("%q: %+v", address, board)
			}
		}
	})
}
