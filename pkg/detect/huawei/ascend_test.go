package huawei

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// ascend adds an NPU at a bus, with its node where number is not negative.
func (s tree) ascend(bus, device, subsystem, driver string, number int) string {
	s.Helper()
	files := compose.Attributes{
		"vendor": "0x19e5", "device": "0x" + device, "class": "0x120000", "subsystem_vendor": "0x19e5", "subsystem_device": "0x" + subsystem,
	}
	if number >= 0 {
		files["dev_id"] = fmt.Sprint(number)
		s.Must(s.AddDevice(fmt.Sprint("/dev/davinci", number)))
	}
	return s.Function("pci0000:00/0000:"+bus+":00.0", driver, files)
}

// npuRows are the two rows of a 910B3 as npu-smi prints them.
func npuRows(npu int, health, bus, memory string) string {
	return fmt.Sprintf("| %-6d910B3               | %-14s| 92.1        36                0    / 0             |\n", npu, health) +
		fmt.Sprintf("| 0                         | 0000:%s:00.0  | 7           0    / 0          %s         |\n", bus, memory)
}

func (s tree) npuSMI(rows ...string) {
	s.Helper()
	s.Must(s.AddCommand(host.CommandResult{Stdout: []byte("| npu-smi 24.1.rc1   Version: 24.1.rc1 |\n" + strings.Join(rows, ""))}, "npu-smi", "info"))
}

func TestAscendIsFoundByItsIDs(t *testing.T) {
	for name, test := range map[string]struct {
		compose func(s tree)
		want    []string
	}{
		"910B whose number differs from its place": {
			func(s tree) { s.ascend("c1", "d802", "0100", ascendDriver, 5) },
			[]string{"huawei-0000:c1:00.0 Ascend 910B [/dev/davinci5] Healthy Opened"},
		},
		"no driver": {
			func(s tree) { s.ascend("c1", "d802", "0100", "", -1) },
			[]string{"huawei-0000:c1:00.0 Ascend 910B [] Unknown DriverMissing"},
		},
		"given to a virtual machine": {
			func(s tree) { s.ascend("c1", "d802", "0100", "vfio-pci", -1) },
			[]string{"huawei-0000:c1:00.0 Ascend 910B [] Unknown OtherDriver"},
		},
		"a driver that gives no number": {
			func(s tree) { s.ascend("c1", "d500", "0100", ascendDriver, -1) },
			[]string{"huawei-0000:c1:00.0 Ascend 310P [] Unknown DeviceNodeMissing"},
		},
		"an id that is not known, with the driver": {
			func(s tree) { s.ascend("c1", "d8ff", "0100", ascendDriver, 0) },
			[]string{"huawei-0000:c1:00.0  [/dev/davinci0] Healthy Opened"},
		},
		"two chips behind one function": {func(s tree) {
			s.ascend("01", "d500", "0110", ascendDriver, 2)
			s.Must(s.AddDevice("/dev/davinci3"))
		}, []string{
			"huawei-0000:01:00.0-0 Ascend 310P [/dev/davinci2] Healthy Opened of huawei-0000:01:00.0",
			"huawei-0000:01:00.0-1 Ascend 310P [/dev/davinci3] Healthy Opened of huawei-0000:01:00.0",
		}},
		"a die of a 910C": {
			func(s tree) { s.ascend("9f", "d803", "0100", ascendDriver, 1) },
			[]string{"huawei-0000:9f:00.0 Ascend 910C (910_93, 2 dies) [/dev/davinci1] Healthy Opened of huawei-npu0"},
		},
		"a virtual function of the host": {func(s tree) {
			whole := s.ascend("c1", "d802", "0100", ascendDriver, 0)
			s.Link(s.ascend("c2", "d805", "0100", ascendDriver, 1)+"/physfn", whole)
		}, []string{"huawei-0000:c1:00.0 Ascend 910B [/dev/davinci0] Healthy Opened"}},
		"Kunpeng's ZIP engine of the same class": {func(s tree) {
			s.Function("pci0000:74/0000:75:00.0", "hisi_zip", compose.Attributes{"vendor": "0x19e5", "device": "0xa250", "class": "0x120000"})
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			test.compose(s)
			var got []string
			for _, d := range s.Detect(Ascend()).Devices {
				line := fmt.Sprintf("%s %s %v %s", d.ID, d.Product, d.Paths, strings.TrimSpace(string(d.Health.State)+" "+d.Health.Reason))
				if d.Partition != nil {
					line += " of " + string(d.Partition.Parent)
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// npu-smi may list the NPUs in another order than the kernel, and only some of them.
func TestAscendToolIsMatchedByAddress(t *testing.T) {
	s := newTree(t)
	s.ascend("01", "d802", "0100", ascendDriver, 0)
	s.ascend("c1", "d802", "0100", ascendDriver, 1)
	s.npuSMI(npuRows(0, "OK", "C1", "3314 / 65536"))
	s.Must(s.AddCommand(host.CommandResult{}, "npu-smi", "info", "-t", "topo"))
	found := s.Detect(Ascend())
	if first := found.Devices[0]; first.Memory != nil || first.Product != "Ascend 910B" {
		t.Errorf("what npu-smi says of another NPU is told of %s: %+v", first.ID, first)
	}
	if first := found.Devices[0]; first.Usable() || first.Health.Reason != "NotListed" {
		t.Errorf("npu-smi works and does not list %s, which has health %+v", first.ID, first.Health)
	}
	second := found.Devices[1]
	want := &v1alpha1.DeviceMemory{TotalMiB: 65536, UsedByOthersMiB: 6552, Source: v1alpha1.SourceDriver}
	if diff := cmp.Diff(want, second.Memory); diff != "" || second.Product != "Ascend 910B3" || second.DriverVersion != "24.1.rc1" {
		t.Errorf("got %+v\n%s", second, diff)
	}
	reading := found.Readings[second.ID]
	if *reading.MemoryUsedMiB != 3314 || *reading.TemperatureMilliC != 36000 || *reading.PowerMilliW != 92100 || *reading.UtilizationPercent != 7 {
		t.Errorf("got readings %+v", reading)
	}
}

func TestAscendHealthIsNPUSMIsWord(t *testing.T) {
	for word, want := range map[string]string{
		"OK": "Healthy ", "Warning": "Degraded Alarm", "Alarm": "Unhealthy Alarm", "Critical": "Unhealthy Alarm", "UNKNOWN": "Unknown HealthUnknown",
	} {
		t.Run(word, func(t *testing.T) {
			s := newTree(t)
			s.ascend("c1", "d802", "0100", ascendDriver, 0)
			s.npuSMI(npuRows(0, word, "C1", "3314 / 65536"))
			health := s.Detect(Ascend()).Devices[0].Health
			if got := string(health.State) + " " + health.Reason; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A tool that fails or prints nonsense hides no NPU.
func TestAscendToolFails(t *testing.T) {
	for name, result := range map[string]host.CommandResult{
		"fails":             {ExitCode: 1, Stderr: []byte("dcmi module initialize failed. ret is -8005")},
		"prints nonsense":   {Stdout: []byte("| 0 | x | y |\n| a | b |")},
		"lists another NPU": {Stdout: []byte(npuRows(0, "OK", "D1", "3314 / 65536"))},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.ascend("c1", "d802", "0100", ascendDriver, 0)
			s.Must(s.AddCommand(result, "npu-smi", "info"))
			found := s.Detect(Ascend())
			if len(found.Devices) != 1 || found.Devices[0].Memory != nil || !strings.Contains(found.Degraded, "npu-smi") {
				t.Errorf("got %+v, degraded %q", found.Devices, found.Degraded)
			}
		})
	}
}

func TestAscendLinks(t *testing.T) {
	const header = "\t   NPU0       NPU1       NPU2       NPU3       CPU Affinity\n"
	for name, test := range map[string]struct {
		matrix         string
		domains, pairs int
		topology       v1alpha1.DomainTopology
		deviceMBps     int64
	}{
		"full mesh":   {header + "NPU0 X HCCS HCCS HCCS 0-23\nNPU1 HCCS X HCCS HCCS 0-23\nNPU2 HCCS HCCS X HCCS 0-23\nNPU3 HCCS HCCS HCCS X 0-23\n", 1, 0, v1alpha1.TopologyMesh, 3 * 28_000},
		"two pairs":   {header + "NPU0 X HCCS SYS SYS\nNPU1 HCCS X SYS SYS\nNPU2 SYS SYS X HCCS\nNPU3 SYS SYS HCCS X\n", 2, 0, v1alpha1.TopologyMesh, 28_000},
		"a chain":     {header + "NPU0 X HCCS SYS SYS\nNPU1 HCCS X HCCS SYS\nNPU2 SYS HCCS X HCCS\nNPU3 SYS SYS HCCS X\n", 0, 3, "", 0},
		"PCIe only":   {header + "NPU0 X PIX PHB SYS\nNPU1 PIX X PHB SYS\nNPU2 PHB PHB X NA\nNPU3 SYS SYS NA X\n", 0, 0, "", 0},
		"another NPU": {header + "NPU9 X HCCS\n", 0, 0, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			var rows []string
			for i := range 4 {
				s.ascend(fmt.Sprintf("0%d", i+1), "d802", "0100", ascendDriver, i)
				rows = append(rows, npuRows(i, "OK", fmt.Sprintf("0%d", i+1), "3314 / 65536"))
			}
			s.npuSMI(rows...)
			s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(test.matrix)}, "npu-smi", "info", "-t", "topo"))
			links := s.Detect(Ascend()).Links
			if len(links.Domains) != test.domains || len(links.Pairs) != test.pairs {
				t.Fatalf("got %+v", links)
			}
			for _, d := range links.Domains {
				if d.Topology != test.topology || d.DeviceMBps != test.deviceMBps || d.PeerMBps != 28_000 {
					t.Errorf("got %+v", d)
				}
			}
		})
	}
}

func TestParseNPUSMI(t *testing.T) {
	number := int32(5)
	milli := func(n int64) *int64 { return &n }
	for name, test := range map[string]struct {
		table string
		want  map[string][]npuChip
	}{
		"card without HBM and without a power sensor": {
			"| 32      310P3                 | OK              | NA           58                0     / 0             |\n" +
				"| 0       1                     | 0000:02:00.0    | 0            1846 / 21527                            |\n",
			map[string][]npuChip{"0000:02:00.0": {{npu: 32, physical: ptr(int32(1)), name: "310P3", health: "OK", usedMiB: 1846, totalMiB: 21527, milliC: milli(58000), coresPercent: milli(0)}}},
		},
		"second die of a 910C": {
			"| 2     Ascend910           | OK            | -           36                0    / 0             |\n" +
				"| 1     5                   | 0000:97:00.0  | 0           0    / 0          3208 / 65536         |\n",
			map[string][]npuChip{"0000:97:00.0": {{npu: 2, chip: 1, physical: &number, name: "Ascend910", health: "OK", usedMiB: 3208, totalMiB: 65536, milliC: milli(36000), coresPercent: milli(0)}}},
		},
		"board without PCI": {
			"| 0       310B4                 | Alarm           | 0.0          65                15    / 15            |\n" +
				"| 0       0                     | NA              | 0            3628 / 15609                            |\n",
			map[string][]npuChip{},
		},
		"processes": {"| 0       0                 | 1712733       | python      | 48954                 |\n", map[string][]npuChip{}},
		"impossible numbers": {
			npuRows(0, "OK", "C1", "99999/ 65536"),
			map[string][]npuChip{"0000:c1:00.0": {{name: "910B3", health: "OK", milliC: milli(36000), milliW: milli(92100), coresPercent: milli(7)}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, parseNPUSMI(test.table).chips, cmp.AllowUnexported(npuChip{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func ptr[T any](value T) *T { return &value }
