package graphcore

import (
	"regexp"
	"testing"
)

func FuzzGCInfo(f *testing.F) {
	f.Add("-+- Id: [0], target: [Fabric], IPU-M host: [10.1.5.10], IPU#: [3]\n")
	f.Fuzz(func(t *testing.T, text string) {
		seen := map[fabricIPU]bool{}
		for _, ipu := range parseGCInfo(text) {
			if seen[ipu] || !regexp.MustCompile(`^[0-9A-Za-z.:_-]{1,64}$`).MatchString(ipu.host) {
				t.Errorf("%+v", ipu)
			}
			seen[ipu] = true
		}
	})
}
