package detect

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
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

func FuzzReadRecording(f *testing.F) {
	f.Add(archive(f, file("rootfs/proc/cpuinfo", "processor : 0"), file("commands.jsonl", `{"argv":["nvidia-smi","-q","-x"],"exitCode":0}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		recording, err := ReadRecording(bytes.NewReader(data))
		if err != nil {
			return
		}
		checkDefects(t, Detect(context.Background(), recording.Host(), Options{}).Status)
		packed := pack(t, recording)
		again, err := ReadRecording(bytes.NewReader(packed))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if !bytes.Equal(packed, pack(t, again)) {
			t.Error("reading what was written and writing it gives other bytes")
		}
	})
}

func FuzzSMIReport(f *testing.F) {
	f.Fuzz(func(t *testing.T, report []byte) {
		parsed, _ := parseSMI(report)
		for address := range parsed.gpus {
			if !pciAddress.MatchString(address) {
				t.Errorf("address %q", address)
			}
		}
		recording := NewRecording()
		for name, content := range map[string]string{"vendor": "0x10de", "device": "0x2330", "class": "0x030200"} {
			if err := recording.AddFile("/sys/bus/pci/devices/0000:17:00.0/"+name, content); err != nil {
				t.Fatal(err)
			}
		}
		if err := recording.AddLink("/sys/bus/pci/devices/0000:17:00.0/driver", "../drivers/nvidia"); err != nil {
			t.Fatal(err)
		}
		if err := recording.AddCommand(CommandResult{Stdout: report}, nvidiaSMI, "-q", "-x"); err != nil {
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
		recording := NewRecording()
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
		if err := recording.AddCommand(CommandResult{Stdout: document}, nvmlTool, "query"); err != nil {
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
