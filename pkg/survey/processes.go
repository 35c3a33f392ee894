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
		name := strings.TrimSpace(text(files, path.Join("/proc", pid, "comm")))
		if !slices.Contains(ours, name) || isSurvey(text(files, path.Join("/proc", pid, "cmdline"))) {
			continue
		}
		status := text(files, path.Join("/proc", pid, "status"))
		found = append(found, Process{Name: name, ResidentKiB: statusKiB(status, "VmRSS"), PeakKiB: statusKiB(status, "VmHWM")})
	}
	return found
}

// isSurvey says whether a command line, whose arguments end in zero bytes, is of a survey.
func isSurvey(cmdline string) bool {
	arguments := strings.Split(cmdline, "\x00")
	return len(arguments) > 1 && arguments[1] == "verify"
}

// statusKiB is a line such as `VmRSS:	   41234 kB` of /proc/PID/status; 0 where there is none.
func statusKiB(status, key string) int64 {
	for line := range strings.Lines(status) {
		if name, value, ok := strings.Cut(line, ":"); ok && name == key {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib
		}
	}
	return 0
}

// text is a file's content; empty where it cannot be read.
func text(files host.Files, name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(data)
}
