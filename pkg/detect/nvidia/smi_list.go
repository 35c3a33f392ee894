package nvidia

import (
	"regexp"
	"strings"
)

// migKey is a MIG device in the list that `nvidia-smi -L` prints: its GPU's UUID and its number there.
type migKey struct{ gpuUUID, index string }

type migName struct{ uuid, profile string }

var (
	smiListGPU = regexp.MustCompile(`^GPU (\d{1,4}): .*\(UUID: (GPU-[^)]+)\)`)
	smiListMIG = regexp.MustCompile(`^\s+MIG (\S+)\s+Device\s+(\d{1,3}): \(UUID: (MIG-[^)]+)\)`)
)

// parseSMIList reads lines of `GPU 0: NAME (UUID: GPU-…)`, each followed by those of its MIG devices.
func parseSMIList(text string) map[migKey]migName {
	names := map[migKey]migName{}
	var gpu string
	for line := range strings.Lines(text) {
		if match := smiListGPU.FindStringSubmatch(line); match != nil {
			gpu = match[2]
		} else if match := smiListMIG.FindStringSubmatch(line); match != nil {
			names[migKey{gpu, match[2]}] = migName{uuid: match[3], profile: match[1]}
		}
	}
	return names
}
