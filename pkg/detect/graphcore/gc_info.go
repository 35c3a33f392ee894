package graphcore

import (
	"regexp"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// fabricIPU is an IPU that is reached over the network: the address of its machine and its number there.
type fabricIPU struct{ host, number string }

// fabricLine matches `-+- Id: [0], target: [Fabric], IPU-M host: [10.1.5.10], IPU#: [3]`. Lines of devices that join
// several IPUs have no such part.
var fabricLine = regexp.MustCompile(`^-\+- Id:.*\[Fabric\], IPU-M host: \[([0-9A-Za-z.:_-]{1,64})\], IPU#: \[(\d{1,4})\]`)

// parseGCInfo reads the list of `gc-info -l`, each IPU once.
func parseGCInfo(output string) []fabricIPU {
	var ipus []fabricIPU
	seen := map[fabricIPU]bool{}
	for line := range strings.Lines(output) {
		match := fabricLine.FindStringSubmatch(strings.TrimSpace(line))
		if match == nil {
			continue
		}
		ipu := fabricIPU{host: match[1], number: match[2]}
		if !seen[ipu] && len(ipus) < backend.MaxDevices {
			seen[ipu] = true
			ipus = append(ipus, ipu)
		}
	}
	return ipus
}
