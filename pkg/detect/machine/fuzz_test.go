package machine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/test/recordings/compose"
	"github.com/rankwright/rankwright/test/recordings/compose/probe"
)

func FuzzCPUInfo(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		cpu := parseCPUInfo(text)
		lines := int32(strings.Count(text, "\n") + 1)
		if max(cpu.Sockets, cpu.Cores, cpu.Threads) > lines || min(cpu.Sockets, cpu.Cores, cpu.Threads) < 0 {
			t.Errorf("%+v of %d lines", cpu, lines)
		}
		if diff := cmp.Diff(cpu, parseCPUInfo(text)); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzCgroup(f *testing.F) {
	f.Fuzz(func(t *testing.T, own, mountinfo, limit string) {
		mounts := cgroupMounts(parseMountInfo(mountinfo))
		for _, group := range parseCgroups(own) {
			for _, controller := range group.controllers {
				for _, folder := range mounts[controller].folders(group.path) {
					if !strings.HasPrefix(folder, mounts[controller].point) {
						t.Errorf("cgroup %+v is looked for at %s, outside %+v", group, folder, mounts[controller])
					}
				}
			}
		}
		var limits cgroupLimits
		limits.limitCPU(limit)
		limits.limitMemory(limit)
		if limits.milliCPU < 0 || limits.memoryMiB < 0 {
			t.Errorf("%q: %+v", limit, limits)
		}
	})
}

func FuzzRDMARate(f *testing.F) {
	for _, seed := range []string{"400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)", "1e9 Gb/sec", "NaN Gb/sec", "-1 Gb/sec", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if rate := parseRate(text); rate < 0 || rate > 1<<15 {
			t.Errorf("%q is read as %d Gbps", text, rate)
		}
	})
}

func FuzzNUMADistances(f *testing.F) {
	for _, seed := range []string{"10 21 21 31", "10", "255 256", "-1", "+10", " "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		distances := parseDistances(text)
		if len(distances) > backend.MaxNUMANodes {
			t.Errorf("%d distances", len(distances))
		}
		for _, d := range distances {
			if d < 0 || d > 255 {
				t.Errorf("%q is read as %v", text, distances)
			}
		}
	})
}

// Whatever a kernel says of ports and disks, what is listed fits the API.
func FuzzPortsAndDisks(f *testing.F) {
	f.Add("4: ACTIVE", "400 Gb/sec (4X NDR)", "Ethernet", "RoCE v2", "eth0", "1", "400000", "1875385008", "0")
	f.Add("1: DOWN", "", "InfiniBand", "IB/RoCE v1", "../../x", "32", "-1", "-1", "x")
	f.Fuzz(func(t *testing.T, state, rate, layer, gid, ndev, kind, speed, size, rotational string) {
		s := probe.NewTree(t)
		folder := s.Function("pci0000:00/0000:00:01.0", "mlx5_core", compose.Attributes{"vendor": "0x15b3", "device": "0x1021", "class": "0x020000"})
		for name, content := range map[string]string{
			"infiniband/mlx5_0/ports/1/state": state, "infiniband/mlx5_0/ports/1/rate": rate, "infiniband/mlx5_0/ports/1/link_layer": layer,
			"infiniband/mlx5_0/node_type": "1: CA", "infiniband/mlx5_0/ports/1/gid_attrs/types/0": gid, "infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0": ndev,
			"net/eth1/type": kind, "net/eth1/carrier": "1", "net/eth1/speed": speed,
			"block/sda/size": size, "block/sda/queue/rotational": rotational,
		} {
			s.File(folder+"/"+name, content)
		}
		for class, name := range map[string]string{"class/infiniband": "infiniband/mlx5_0", "class/net": "net/eth1", "block": "block/sda"} {
			s.Link("/sys/"+class+"/"+name[strings.Index(name, "/")+1:], folder+"/"+name)
			s.Link(folder+"/"+name+"/device", folder)
		}
		ports, _ := Network().Detect(t.Context(), s.Host())
		disks, _ := Storage().Detect(t.Context(), s.Host())
		for _, nic := range ports.NICs {
			if nic.Gbps < 0 {
				t.Errorf("%+v", nic)
			}
		}
		for _, disk := range disks.Storage {
			if disk.SizeMiB <= 0 {
				t.Errorf("%+v", disk)
			}
		}
	})
}
