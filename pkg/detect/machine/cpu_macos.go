package machine

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// macFacts are the names that sysctl is asked for, in order, each answered by a line.
var macFacts = []string{
	"hw.memsize", "hw.logicalcpu", "hw.physicalcpu", "hw.packages", "hw.machine", "machdep.cpu.brand_string", "kern.osrelease",
}

// detectMacHost reads a Mac, of which only the system's version is in a file.
func detectMacHost(ctx context.Context, h *host.Host) (backend.Found, error) {
	facts := v1alpha1.Host{OS: readMacVersion(h.Files)}
	result, err := host.Query(ctx, h, "macOS shows processors and memory to sysctl only: let the agent run commands",
		append([]string{"sysctl", "-n"}, macFacts...)...)
	if err == nil {
		err = takeMacFacts(&facts, string(result.Stdout))
	}
	found := backend.Found{Host: &facts}
	found.Degrade(err)
	return found, nil
}

// takeMacFacts reads sysctl's lines. A name that the kernel does not have has no line, so their number must be right.
func takeMacFacts(facts *v1alpha1.Host, output string) error {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if len(lines) != len(macFacts) {
		return fmt.Errorf("sysctl: %d lines for %d names", len(lines), len(macFacts))
	}
	number := func(i int, limit int64) int64 {
		value, err := strconv.ParseInt(strings.TrimSpace(lines[i]), 10, 64)
		if err != nil || value < 0 || value > limit {
			return 0
		}
		return value
	}
	const manyCPUs = 1 << 16
	facts.Memory.TotalMiB = number(0, backend.MaxMemoryMiB<<20) >> 20
	facts.CPU = v1alpha1.CPU{
		Threads: int32(number(1, manyCPUs)), Cores: int32(number(2, manyCPUs)), Sockets: int32(number(3, manyCPUs)),
		Architecture: cmp.Or(goArchitectures[lines[4]], strings.TrimSpace(lines[4])), Model: strings.TrimSpace(lines[5]),
	}
	facts.Kernel = strings.TrimSpace(lines[6])
	return nil
}

// readMacVersion returns `macOS 15.5` of the system's property list, in which a key's value follows it.
func readMacVersion(files host.Files) string {
	text, _, _ := host.ReadText(files, host.MacOSVersion)
	_, rest, _ := strings.Cut(text, "<key>ProductVersion</key>")
	_, rest, _ = strings.Cut(rest, "<string>")
	version, _, found := strings.Cut(rest, "</string>")
	if !found {
		return "macOS"
	}
	return "macOS " + host.Clip(strings.TrimSpace(version), 32)
}
