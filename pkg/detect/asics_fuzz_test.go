package detect

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

func FuzzNPUSMI(f *testing.F) {
	f.Add(npuRows(0, "OK", "C1", "3314 / 65536"))
	f.Add("| 1 310P3 | OK | NA 49 0 / 0 |\n| 1 1 | 0000:01:00.0 | 0 1511 / 43693 |\n")
	f.Fuzz(func(t *testing.T, text string) {
		for address, chips := range parseNPUSMI(text).chips {
			if !isPCIAddress(address) || len(chips) == 0 {
				t.Errorf("%q: %+v", address, chips)
			}
			for _, c := range chips {
				if c.usedMiB < 0 || c.usedMiB > c.totalMiB || c.totalMiB > maxMemoryMiB || c.npu < 0 || c.chip < 0 {
					t.Errorf("%+v", c)
				}
			}
		}
	})
}

func FuzzNPUTopology(f *testing.F) {
	f.Add("\t NPU0 NPU1 CPU Affinity\nNPU0 X HCCS 0-23\nNPU1 HCCS X 0-23\n")
	f.Add("Phy-ID0 Phy-ID1 Phy-ID2\nPhy-ID0 X SIO HCCS_SW\n")
	f.Fuzz(func(t *testing.T, text string) {
		relations := parseNPUTopology(text)
		byLabel := map[string]*ascendNPU{}
		for i, r := range relations {
			if !isNPULabel(r.a) || !isNPULabel(r.b) || r.a >= r.b {
				t.Errorf("%+v", r)
			}
			npu := &ascendNPU{chip: i, chips: len(relations) + 1}
			byLabel[r.a], byLabel[r.b] = npu, &ascendNPU{chip: -i, chips: 2}
			if i == 64 {
				break
			}
		}
		for _, d := range linksOfNPUs(relations[:min(len(relations), 64)], byLabel).Domains {
			if len(d.Members) < 2 {
				t.Errorf("%+v", d)
			}
		}
	})
}

func FuzzTTSMI(f *testing.F) {
	f.Add([]byte(`{"device_info":[{"board_info":{"bus_id":"0000:c1:00.0","board_type":"n300 L","board_id":"01","dram_status":true}}]}`))
	f.Add([]byte(`{"device_info":["N/A",{"board_info":{"bus_id":7,"dram_status":"N/A"}},{"board_info":null}]}`))
	f.Add([]byte("text\n{\"device_info\":[{\"board_info\":{\"bus_id\":\"N/A\",\"board_type\":\"n300 R\",\"board_id\":\"01\"}}]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		boards, _ := parseTTSMI(text)
		for address, board := range boards.local {
			if !isPCIAddress(address) || board == nil {
				t.Errorf("%q: %+v", address, board)
			}
		}
	})
}

func FuzzFuriosaStatus(f *testing.F) {
	f.Add([]byte(`[{"device":"npu0","memory":{"DRAM":{"used_size":0,"total_size":51002736640}},"pe_utilizations":[{"pe_utilization":87.5}]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		status, _ := parseFuriosaStatus(text)
		for _, s := range status {
			var npu furiosaNPU
			npu.name = s.Device
			device, reading, _ := npu.device(host.NewRecording().Host().Files, status)
			if m := device.Memory; m != nil && (m.TotalMiB < 1 || m.TotalMiB > maxMemoryMiB || m.UsedByOthersMiB > m.TotalMiB) {
				t.Errorf("%+v", m)
			}
			if u := reading.UtilizationPercent; u != nil && (*u < 0 || *u > 100) {
				t.Errorf("%d %%", *u)
			}
		}
	})
}

func FuzzHailo(f *testing.F) {
	f.Add("Executing on device: 0001:01:00.0\nFirmware Version: 4.20.0 (release)\nDevice Architecture: HAILO8L\nSerial Number: HL1\n")
	f.Fuzz(func(t *testing.T, text string) {
		for address, board := range parseHailo(text) {
			if !isPCIAddress(address) || len(board.serial) > 64 || len(board.architecture) > 32 {
				t.Errorf("%q: %+v", address, board)
			}
		}
	})
}

func FuzzGCInfo(f *testing.F) {
	f.Add("-+- Id: [0], target: [Fabric], IPU-M host: [10.1.5.10], IPU#: [3]\n")
	f.Fuzz(func(t *testing.T, text string) {
		seen := map[fabricIPU]bool{}
		for _, ipu := range parseGCInfo(text) {
			if seen[ipu] || !validID.MatchString(strings.Join([]string{"graphcore", ipu.host, ipu.number}, "-")) {
				t.Errorf("%+v", ipu)
			}
			seen[ipu] = true
		}
	})
}

func FuzzCSCTL(f *testing.F) {
	f.Add([]byte(`{"items":[{"meta":{"name":"systemf1"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		names, err := parseCSCTL(text)
		if err != nil && names != nil {
			t.Errorf("%v and %v", names, err)
		}
	})
}

func FuzzWMI(f *testing.F) {
	f.Add([]byte(workstation))
	f.Add([]byte(`{"PNPDeviceID":"PCI\\VEN_1002&DEV_744C&SUBSYS_0E3B1002&REV_C8\\6&0&1","MemorySize":[0,0,0,0,6,0,0,0]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		adapters, _ := parseWMI(text)
		for i := range adapters {
			device, ok := adapters[i].device()
			if !ok {
				continue
			}
			if _, err := boundDevice(device); err != nil {
				t.Error(err)
			}
			if m := device.Memory; m != nil && (m.TotalMiB < 1 || m.TotalMiB > maxMemoryMiB) {
				t.Errorf("%+v", m)
			}
		}
	})
}
