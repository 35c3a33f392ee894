package machine

import (
	"errors"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// cgroupLimits are the tightest limits on the detecting process; 0 is no limit.
type cgroupLimits struct {
	milliCPU  int64
	memoryMiB int64
}

// readCgroupLimits reads the limits of the process's own cgroup and of every one above it that can be seen, for both
// versions of cgroups and for hosts that mix them: the least one binds.
func readCgroupLimits(files host.Files) (cgroupLimits, error) {
	own, _, err := host.ReadText(files, "/proc/self/cgroup")
	if err != nil {
		return cgroupLimits{}, err
	}
	mountinfo, _, err := host.ReadText(files, "/proc/self/mountinfo")
	if err != nil {
		return cgroupLimits{}, err
	}
	mounts := cgroupMounts(parseMountInfo(mountinfo))
	var limits cgroupLimits
	var unread []error
	for _, group := range parseCgroups(own) {
		for _, controller := range group.controllers {
			mount, ok := mounts[controller]
			if !ok {
				continue
			}
			for _, folder := range mount.folders(group.path) {
				unread = append(unread, limits.tighten(files, controller, folder))
			}
		}
	}
	return limits, errors.Join(unread...)
}

// unified is the controller name of a cgroup of version 2, which has them all.
const unified = ""

// limitFiles hold the limits of a cgroup, by controller. What several files of a limit hold is joined by spaces.
var limitFiles = []struct {
	controller string
	names      []string
	take       func(*cgroupLimits, string)
}{
	{unified, []string{"cpu.max"}, (*cgroupLimits).limitCPU},
	{unified, []string{"memory.max"}, (*cgroupLimits).limitMemory},
	{"cpu", []string{"cpu.cfs_quota_us", "cpu.cfs_period_us"}, (*cgroupLimits).limitCPU},
	{"memory", []string{"memory.limit_in_bytes"}, (*cgroupLimits).limitMemory},
}

// tighten takes the limits of one cgroup folder into account.
func (l *cgroupLimits) tighten(files host.Files, controller, folder string) error {
	var unread []error
	for _, limit := range limitFiles {
		if limit.controller != controller {
			continue
		}
		var texts []string
		for _, name := range limit.names {
			text, _, err := host.ReadText(files, path.Join(folder, name))
			texts, unread = append(texts, text), append(unread, err)
		}
		limit.take(l, strings.Join(texts, " "))
	}
	return errors.Join(unread...)
}

// limitCPU takes microseconds of CPU and the period in microseconds; `max` and -1 are no limit.
func (l *cgroupLimits) limitCPU(limit string) {
	quota, period, _ := strings.Cut(limit, " ")
	q, err := strconv.ParseInt(quota, 10, 64)
	p, err2 := strconv.ParseInt(period, 10, 64)
	if err != nil || err2 != nil || q <= 0 || p <= 0 || q > math.MaxInt64/1000 {
		return
	}
	l.milliCPU = Least(l.milliCPU, max(1, q*1000/p))
}

// limitMemory takes bytes; `max` is no limit, and what version 1 prints for none is above any total.
func (l *cgroupLimits) limitMemory(limit string) {
	if bytes, err := strconv.ParseInt(limit, 10, 64); err == nil && bytes > 0 {
		l.memoryMiB = Least(l.memoryMiB, max(1, bytes>>20))
	}
}

// Least returns the smaller of two limits, of which 0 means no limit.
func Least[N int32 | int64](a, b N) N {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// cgroup is a line of /proc/self/cgroup.
type cgroup struct {
	controllers []string
	path        string
}

// parseCgroups reads lines of `id:controllers:path`; the line of version 2 has no controllers.
func parseCgroups(text string) []cgroup {
	var groups []cgroup
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) == 3 && path.IsAbs(fields[2]) {
			groups = append(groups, cgroup{strings.Split(fields[1], ","), path.Clean(fields[2])})
		}
	}
	return groups
}

// cgroupMount is where a hierarchy, or the part of it below root, is mounted.
type cgroupMount struct{ root, point string }

// cgroupMounts finds the mount of each controller. Where mountinfo names none, the places are systemd's.
func cgroupMounts(mounts []mount) map[string]cgroupMount {
	found := map[string]cgroupMount{}
	for _, m := range mounts {
		switch m.kind {
		case "cgroup2":
			found[unified] = cgroupMount{m.root, m.point}
		case "cgroup":
			for _, option := range strings.Split(m.options, ",") {
				if option == "cpu" || option == "memory" {
					found[option] = cgroupMount{m.root, m.point}
				}
			}
		}
	}
	if len(found) > 0 {
		return found
	}
	return map[string]cgroupMount{
		unified: {"/", "/sys/fs/cgroup"}, "cpu": {"/", "/sys/fs/cgroup/cpu"}, "memory": {"/", "/sys/fs/cgroup/memory"},
	}
}

// folders returns the folders of a cgroup and of its ancestors, innermost first. A cgroup outside the part that is
// mounted cannot be seen; the mount point is then the nearest thing to it.
func (m cgroupMount) folders(group string) []string {
	below, inside := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
	if !inside || below != "" && below[0] != '/' {
		below = "/"
	}
	folders := []string{}
	for step := path.Clean("/" + below); step != "/"; step = path.Dir(step) {
		folders = append(folders, path.Join(m.point, step))
	}
	return append(folders[:min(len(folders), 64)], m.point)
}

// mount is a line of /proc/self/mountinfo.
type mount struct{ root, point, kind, source, options string }

// parseMountInfo reads the lines of proc_pid_mountinfo(5): `36 35 98:0 /root /point opts optional… - type source super`.
func parseMountInfo(text string) []mount {
	var mounts []mount
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		separator := slices.Index(fields, "-")
		if separator < 5 || len(fields) < separator+4 || !path.IsAbs(fields[4]) || path.Clean(fields[4]) != fields[4] {
			continue
		}
		mounts = append(mounts, mount{
			root: fields[3], point: fields[4],
			kind: fields[separator+1], source: fields[separator+2], options: fields[separator+3],
		})
	}
	return mounts
}
