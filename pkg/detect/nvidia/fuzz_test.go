package nvidia

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

func FuzzSMIReport(f *testing.F) {
	f.Fuzz(func(t *testing.T, report []byte) {
		parsed, _ := parseSMI(report)
		for address := range parsed.gpus {
			if !pci.IsAddress(address) {
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
		found, err := GPU().Detect(t.Context(), recording.Host())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range found.Devices {
			if d.Memory != nil && (d.Memory.TotalMiB < 0 || d.Memory.TotalMiB > backend.MaxMemoryMiB || d.Memory.UsedByOthersMiB > d.Memory.TotalMiB) {
				t.Errorf("%+v", d.Memory)
			}
			if d.Health.State == "" {
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
		found, err := GPU().Detect(t.Context(), recording.Host())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range found.Devices {
			if d.PCI == nil || d.PCI.Address != "0000:17:00.0" && d.PCI.Address != "0000:65:00.0" {
				t.Errorf("a device that the bus does not have: %+v", d)
			}
			if d.Memory != nil && (d.Memory.TotalMiB < 0 || d.Memory.TotalMiB > backend.MaxMemoryMiB || d.Memory.UsedByOthersMiB > d.Memory.TotalMiB) {
				t.Errorf("%+v", d.Memory)
			}
		}
		for id, reading := range found.Readings {
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
