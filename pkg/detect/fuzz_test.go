package detect

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// checkDefects fails where a backend panicked: Detect would only report it.
func checkDefects(t *testing.T, status v1alpha1.AcceleratorInventoryStatus) {
	t.Helper()
	for _, b := range status.Backends {
		if strings.HasPrefix(b.Message, errPanicked.Error()) {
			t.Errorf("%s: %s", b.Name, b.Message)
		}
	}
}

func FuzzSMIReport(f *testing.F) {
	f.Fuzz(func(t *testing.T, report []byte) {
		parsed, _ := parseSMI(report)
		for address := range parsed.gpus {
			if !isPCIAddress(address) {
				t.Errorf("address %q", address)
			}
		}
		recording := host.NewRecording()
		for name, content := range map[string]string{"vendor": "0x10de", "device": "0x2330", "class": "0x030200"} {
			if err := recording.AddFile("/sys/bus/pci/devices/0000:17:00.0/"+name, content); err != nil {
				t.Fatal(err)
			}
		}
		if err := recording.AddLink("/sys/bus/pci/devices/0000:17:00.0/driver", "../drivers/nvidia"); err != nil {
			t.Fatal(err)
		}
		if err := recording.AddCommand(host.CommandResult{Stdout: report}, host.SMIReport...); err != nil {
			t.Skip(err)
		}
		status := Detect(context.Background(), recording.Host(), Options{}).Status
		checkDefects(t, status)
		for _, d := range status.Devices {
			if d.Memory != nil && (d.Memory.TotalMiB < 0 || d.Memory.TotalMiB > maxMemoryMiB || d.Memory.UsedByOthersMiB > d.Memory.TotalMiB) {
				t.Errorf("%+v", d.Memory)
			}
			if d.Health.State == "" || len(d.Product) > 256 {
				t.Errorf("%+v", d)
			}
		}
	})
}

func FuzzNVMLDocument(f *testing.F) {
	f.Add([]byte(`{"driverVersion":"580.105.08","gpus":[{"pci":"0000:17:00.0","uuid":"GPU-1","memory":{"totalMiB":81559,"usedMiB":4},"nvLinks":[{"active":true,"remote":"GPU","remotePCI":"0000:65:00.0","mbps":26562}],"fabric":{"state":"Completed","clusterUUID":"x","clique":5}},{"pci":"0000:65:00.0","faults":[{"call":"nvmlDeviceGetUUID","code":15,"text":"GPU is lost"}]}]}`))
	f.Add([]byte(`{"gpus":[{"pci":"0000:17:00.0","mig":{"enabled":true,"devices":[{"gpuInstance":2,"profile":"3g.40gb","memory":{"totalMiB":40448,"usedMiB":1}},{"gpuInstance":2,"computeInstance":1}]},"powerMilliW":-1,"temperatureC":9999}]}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		recording := host.NewRecording()
		for _, address := range []string{"0000:17:00.0", "0000:65:00.0"} {
			for name, content := range map[string]string{"vendor": "0x10de", "device": "0x2330", "class": "0x030200"} {
				if err := recording.AddFile("/sys/bus/pci/devices/"+address+"/"+name, content); err != nil {
					t.Fatal(err)
				}
			}
			if err := recording.AddLink("/sys/bus/pci/devices/"+address+"/driver", "../drivers/nvidia"); err != nil {
				t.Fatal(err)
			}
		}
		if err := recording.AddCommand(host.CommandResult{Stdout: document}, host.NVMLQuery...); err != nil {
			t.Skip(err)
		}
		report := Detect(context.Background(), recording.Host(), Options{Backends: []Backend{NVIDIA()}})
		checkDefects(t, report.Status)
		for _, d := range report.Status.Devices {
			if d.PCI == nil || d.PCI.Address != "0000:17:00.0" && d.PCI.Address != "0000:65:00.0" {
				t.Errorf("a device that the bus does not have: %+v", d)
			}
			if d.Memory != nil && (d.Memory.TotalMiB < 0 || d.Memory.TotalMiB > maxMemoryMiB || d.Memory.UsedByOthersMiB > d.Memory.TotalMiB) {
				t.Errorf("%+v", d.Memory)
			}
		}
		for id, reading := range report.Readings {
			for _, value := range []*int64{reading.MemoryUsedMiB, reading.PowerMilliW, reading.TemperatureMilliC, reading.UtilizationPercent} {
				if value != nil && *value < 0 {
					t.Errorf("%s: %d", id, *value)
				}
			}
		}
	})
}

func FuzzTopology(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		for pair, count := range parseTopology(text) {
			if pair[0] < 0 || pair[0] >= pair[1] || count < 1 || count > 99 {
				t.Errorf("%v: %d links", pair, count)
			}
		}
	})
}

func FuzzNVLinks(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		for index, gpu := range parseNVLinks(text) {
			if index < 0 || gpu.uuid == "" || gpu.mbps < 0 || gpu.mbps > int64(gpu.active)*maxNVLinkGBps*1000 {
				t.Errorf("GPU %d: %+v", index, gpu)
			}
		}
	})
}

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
		quota, period, _ := strings.Cut(limit, " ")
		limits.limitCPU(quota, period)
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
		if len(distances) > maxNUMANodes {
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
		s := newSysfs(t)
		folder := s.pci("pci0000:00/0000:00:01.0", "mlx5_core", attributes{"vendor": "0x15b3", "device": "0x1021", "class": "0x020000"})
		for name, content := range map[string]string{
			"infiniband/mlx5_0/ports/1/state": state, "infiniband/mlx5_0/ports/1/rate": rate, "infiniband/mlx5_0/ports/1/link_layer": layer,
			"infiniband/mlx5_0/node_type": "1: CA", "infiniband/mlx5_0/ports/1/gid_attrs/types/0": gid, "infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0": ndev,
			"net/eth1/type": kind, "net/eth1/carrier": "1", "net/eth1/speed": speed,
			"block/sda/size": size, "block/sda/queue/rotational": rotational,
		} {
			s.file(folder+"/"+name, content)
		}
		for class, name := range map[string]string{"class/infiniband": "infiniband/mlx5_0", "class/net": "net/eth1", "block": "block/sda"} {
			s.link("/sys/"+class+"/"+name[strings.Index(name, "/")+1:], folder+"/"+name)
			s.link(folder+"/"+name+"/device", folder)
		}
		status := Detect(context.Background(), s.Host(), Options{Backends: []Backend{Network(), Storage()}}).Status
		checkDefects(t, status)
		for _, nic := range status.NICs {
			if nic.Gbps < 0 || len(nic.Interfaces) > 16 || len(nic.RoCEVersions) > 2 {
				t.Errorf("%+v", nic)
			}
			for _, name := range nic.Interfaces {
				if len(name) > 32 {
					t.Errorf("interface %q", name)
				}
			}
		}
		for _, disk := range status.Storage {
			if disk.SizeMiB <= 0 {
				t.Errorf("%+v", disk)
			}
		}
	})
}
