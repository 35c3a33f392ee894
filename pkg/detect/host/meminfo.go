package host

import (
	"fmt"
	"strconv"
	"strings"
)

// ReadMemTotal reads the line `MemTotal: 2113386884 kB`, or `Node 0 MemTotal: …` of a NUMA node, in MiB.
func ReadMemTotal(files Files, name string) (int64, error) {
	text, ok, err := ReadText(files, name)
	if err != nil || !ok {
		return 0, err
	}
	if total, ok := MemInfo(text, "MemTotal"); ok {
		return total, nil
	}
	return 0, fmt.Errorf("%s: has no valid MemTotal", name)
}

// MemInfo is a line of a meminfo file in MiB; ok is false where it has no such amount. The kernel's kB are KiB.
func MemInfo(text, key string) (mib int64, ok bool) {
	for line := range strings.Lines(text) {
		_, value, found := strings.Cut(line, key+":")
		if !found {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		return kib >> 10, err == nil && kib >= 0
	}
	return 0, false
}
