package survey

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Process is a program of ours that runs on the host.
type Process struct {
	Name string `json:"name"`
	// ResidentKiB is the memory that it has resident, PeakKiB the most that it had; in KiB.
	ResidentKiB int64 `json:"residentKiB"`
	PeakKiB     int64 `json:"peakKiB"`
}

// ours are the first 15 bytes, which the kernel keeps, of our programs' names.
var ours = []string{"node-agent", "node-helper", "rankwright-nvml"}

// agents are the processes of a node agent. The files are read past any recording: a list of all processes is nobody's
// business.
func agents(files host.Files) []Process {
	names, err := files.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []Process
	for _, pid := range names {
		if _, err := strconv.ParseUint(pid, 10, 32); err != nil {
			continue
		}
		text := func(file string) string {
			text, _, _ := host.ReadText(files, path.Join("/proc", pid, file))
			return text
		}
		name, status := text("comm"), text("status")
		if !slices.Contains(ours, name) || isSurvey(text("cmdline")) {
			continue
		}
		process := Process{Name: name}
		process.ResidentKiB, _ = host.AmountKiB(status, "VmRSS")
		process.PeakKiB, _ = host.AmountKiB(status, "VmHWM")
		found = append(found, process)
	}
	return found
}

// isSurvey says whether a command line, whose arguments end in zero bytes, is of a survey.
func isSurvey(cmdline string) bool {
	arguments := strings.Split(cmdline, "\x00")
	return len(arguments) > 1 && arguments[1] == "verify"
}
