package qualcomm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

const qaicSwitch = "pci0000:20/0000:20:01.1/0000:21:00.0"

// qaic adds so many SoCs, each at a port of its own of one switch.
func (s tree) qaic(socs int) {
	s.Helper()
	for i := range socs {
		s.qaicAt(fmt.Sprintf("%s/0000:22:%02x.0/0000:%02x:00.0", qaicSwitch, i, 0x30+i), i)
	}
}

func (s tree) qaicAt(place string, accel int) {
	s.Helper()
	folder := s.Function(place, qaicDriver, compose.Attributes{"vendor": "0x17cb", "device": "0xa100", "class": "0x120000", "numa_node": "0"})
	s.Accel(folder, accel)
}

// qaicText is what qaic-util prints of a SoC: the order and words of QUtil.cpp, shortened.
func qaicText(qid int, address, sku, board string, totalMiB int) string {
	return fmt.Sprintf("QID %d\n\tStatus:Ready\n\tPCI Address:%s\n\tPCI Info:Processing accelerators Qualcomm Device a100\n"+
		"\tHW Serial:0x64b5276b\n\tFW Version:1.5.6\n\tFW QC_IMAGE_VERSION:QSM.AIC.1.5.6\n\tFW OEM_IMAGE_VERSION:\n"+
		"\tDram Total:%d MB\n\tDram Free:%d MB\n\tSku Type:%s\n\n\tBoard serial:%s\n\tSoC temperature(degree C):44.25\n\tBoard power(Watts):31.50\n",
		qid, address, totalMiB, totalMiB-4096, sku, board)
}

func (s tree) qaicUtil(sku string, totalMiB int, boards ...string) {
	s.Helper()
	text := "Number of devices: 4\n"
	for i, board := range boards {
		text += qaicText(i, fmt.Sprintf("0000:%02x:00.0", 0x30+i), sku, board, totalMiB)
	}
	s.Prints(text, "qaic-util", "-q")
}

// Each SoC is listed, however many there are.
func TestQualcommListsEveryDevice(t *testing.T) {
	for _, socs := range []int{1, 3, 4, 8, 16} {
		s := newTree(t)
		s.qaic(socs)
		found := s.Detect(CloudAI())
		if len(found.Devices) != socs {
			t.Errorf("got %d devices of %d", len(found.Devices), socs)
		}
		for i, d := range found.Devices {
			if want := fmt.Sprint("/dev/accel/accel", i); len(d.Paths) != 1 || d.Paths[0] != want || d.Health.State != v1alpha1.Healthy {
				t.Errorf("%s: got %v %+v, want %s", d.ID, d.Paths, d.Health, want)
			}
		}
	}
}

func TestQualcommKinds(t *testing.T) {
	for sku, want := range map[string]struct {
		product   string
		bandwidth int64
	}{
		"PCIe":       {"AI 100 Standard", 137_000},
		"PCIe Pro":   {"AI 100 Pro", 137_000},
		"PCIe Ultra": {"AI 100 Ultra", 137_000},
		"PCIe Lite":  {"Cloud AI 100", 0},
		"":           {"Cloud AI 100", 0},
	} {
		t.Run(sku, func(t *testing.T) {
			s := newTree(t)
			s.qaic(1)
			s.qaicUtil(sku, 32692, "QC1")
			found := s.Detect(CloudAI())
			d := found.Devices[0]
			if d.Product != want.product || d.UUID != "0x64b5276b" || d.FirmwareVersion != "1.5.6" {
				t.Errorf("got %q %q %q", d.Product, d.UUID, d.FirmwareVersion)
			}
			var bandwidth int64
			if d.Performance != nil {
				bandwidth = d.Performance.MemoryBandwidthMBps
			}
			if bandwidth != want.bandwidth {
				t.Errorf("got %d MB/s, want %d", bandwidth, want.bandwidth)
			}
			memory := &v1alpha1.DeviceMemory{TotalMiB: 32692, UsedByOthersMiB: backend.UsedInSteps(4096, 32692), Source: v1alpha1.SourceDriver}
			if diff := cmp.Diff(memory, d.Memory); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The kind of card is not known without the tool, so its memory is not either.
func TestQualcommInventsNoMemory(t *testing.T) {
	s := newTree(t)
	s.qaic(4)
	found := s.Detect(CloudAI())
	for _, d := range found.Devices {
		if d.Memory != nil || d.Performance != nil {
			t.Errorf("%s: got %+v %+v", d.ID, d.Memory, d.Performance)
		}
	}
	if !strings.Contains(found.Degraded, "qaic-util") {
		t.Errorf("got degraded %q", found.Degraded)
	}
}

func TestQualcommUltra(t *testing.T) {
	for name, test := range map[string]struct {
		compose func(s tree)
		parts   int
	}{
		"four behind a switch":     {func(s tree) { s.qaic(4) }, 4},
		"four that the tool names": {func(s tree) { s.qaic(4); s.qaicUtil("PCIe Ultra", 32692, "QC1", "QC1", "QC1", "QC1") }, 4},
		"four with a switch's own function": {func(s tree) {
			s.qaic(4)
			s.Function(qaicSwitch+"/0000:22:1f.0/0000:3f:00.0", "", compose.Attributes{"vendor": "0x1000", "device": "0x02b2", "class": "0x088000"})
			s.qaicUtil("PCIe Ultra", 32692, "QC1", "QC1", "QC1", "QC1")
		}, 4},
		"four cards that the tool names": {func(s tree) { s.qaic(4); s.qaicUtil("PCIe", 16308, "QC1", "QC2", "QC3", "QC4") }, 0},
		"four boards":                    {func(s tree) { s.qaic(4); s.qaicUtil("", 32692, "QC1", "QC2", "QC3", "QC4") }, 0},
		"three behind a switch":          {func(s tree) { s.qaic(3) }, 0},
		"eight behind a switch":          {func(s tree) { s.qaic(8) }, 0},
		"four and a disk behind a switch": {func(s tree) {
			s.qaic(4)
			s.Function(qaicSwitch+"/0000:22:1f.0/0000:3f:00.0", "nvme", compose.Attributes{"vendor": "0x144d", "device": "0xa80a", "class": "0x010802"})
		}, 0},
		"four without a switch": {func(s tree) {
			for i := range 4 {
				s.qaicAt(fmt.Sprintf("pci0000:20/0000:20:%02x.1/0000:%02x:00.0", i+1, 0x30+i), i)
			}
		}, 0},
		"four functions at one port": {func(s tree) {
			for i := range 4 {
				s.qaicAt(fmt.Sprintf("%s/0000:22:00.0/0000:30:%02x.0", qaicSwitch, i), i)
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			test.compose(s)
			parts := 0
			for i, d := range s.Detect(CloudAI()).Devices {
				if d.Partition == nil {
					continue
				}
				parts++
				want := &v1alpha1.DevicePartition{Kind: "soc", Parent: "qualcomm-0000:21:00.0", Index: int32(i)}
				if diff := cmp.Diff(want, d.Partition); diff != "" {
					t.Error(diff)
				}
			}
			if parts != test.parts {
				t.Errorf("got %d partitions, want %d", parts, test.parts)
			}
		})
	}
}

// All SoCs of a card report the power of the whole card.
func TestQualcommReadings(t *testing.T) {
	s := newTree(t)
	s.qaic(4)
	s.qaicUtil("PCIe Ultra", 32692, "QC1", "QC1", "QC1", "QC1")
	ultra := s.Detect(CloudAI()).Readings["qualcomm-0000:30:00.0"]
	if ultra.PowerMilliW != nil || *ultra.TemperatureMilliC != 44_250 || *ultra.MemoryUsedMiB != 4096 {
		t.Errorf("got %+v", ultra)
	}
	s = newTree(t)
	s.qaic(1)
	s.qaicUtil("PCIe Pro", 32692, "QC1")
	if alone := s.Detect(CloudAI()).Readings["qualcomm-0000:30:00.0"]; alone.PowerMilliW == nil || *alone.PowerMilliW != 31_500 {
		t.Errorf("got %+v", alone)
	}
}

func TestQualcommHealth(t *testing.T) {
	for status, want := range map[string]string{
		"Ready": "Healthy", "Initializing": "Unknown NotReady", "Error": "Unhealthy NotReady", "Unknown": "Unknown NotReady",
	} {
		s := newTree(t)
		s.qaic(1)
		s.Prints("QID 0\n\tStatus:"+status+"\n\tPCI Address:0000:30:00.0\n\tDev Link:/dev/accel/accel0 \n", "qaic-util", "-q")
		d := s.Detect(CloudAI()).Devices[0]
		if got := strings.TrimSpace(string(d.Health.State) + " " + d.Health.Reason); got != want {
			t.Errorf("%s: got %s, want %s", status, got, want)
		}
	}
}

func TestQualcommOthers(t *testing.T) {
	for name, test := range map[string]struct {
		device, driver string
		product        string
	}{
		"AI 080":                   {"a080", qaicDriver, "Cloud AI 080"},
		"AI 200":                   {"a110", qaicDriver, "Cloud AI 200"},
		"an unknown id of qaic":    {"a120", qaicDriver, "Qualcomm 17cb:a120"},
		"a modem":                  {"0308", "mhi-pci-generic", ""},
		"AI 100 without a driver":  {"a100", "", "Cloud AI 100"},
		"AI 100 of a guest's VFIO": {"a100", "vfio-pci", "Cloud AI 100"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.Function("pci0000:20/0000:30:00.0", test.driver, compose.Attributes{"vendor": "0x17cb", "device": "0x" + test.device, "class": "0x120000"})
			found := s.Detect(CloudAI())
			product := ""
			for _, d := range found.Devices {
				product = d.Product
				if d.Health.State != v1alpha1.Unknown {
					t.Errorf("got %+v without a node", d.Health)
				}
			}
			if product != test.product {
				t.Errorf("got %q, want %q", product, test.product)
			}
		})
	}
}

func TestQualcommToolOfAnyKindHidesNothing(t *testing.T) {
	for name, result := range map[string]host.CommandResult{
		"nonsense":  {Stdout: []byte("Failed to query")},
		"a failure": {ExitCode: 255, Stderr: []byte("permission denied")},
		"nothing":   {},
	} {
		s := newTree(t)
		s.qaic(2)
		s.Must(s.AddCommand(result, "qaic-util", "-q"))
		if found := s.Detect(CloudAI()); len(found.Devices) != 2 || found.Degraded == "" {
			t.Errorf("%s: got %d devices, degraded %q", name, len(found.Devices), found.Degraded)
		}
	}
}

func FuzzQaicUtil(f *testing.F) {
	f.Add("Number of devices: 1\n" + qaicText(0, "0000:30:00.0", "PCIe Ultra", "QC1", 32692))
	f.Add("QID 0\n\tStatus:Error\n\tPCI Address:0002:01:00.0\n\tDram Total:-1 MB\n\tDram Free:99999999999999999999 MB\n")
	f.Fuzz(func(t *testing.T, text string) {
		for address, report := range parseQaicUtil(text) {
			if !pci.IsAddress(address) {
				t.Errorf("%s: %+v", address, report)
			}
			device := v1alpha1.Device{}
			report.describe(&device)
			if m := device.Memory; m != nil && (m.TotalMiB <= 0 || m.TotalMiB > backend.MaxMemoryMiB || m.UsedByOthersMiB < 0 || m.UsedByOthersMiB > m.TotalMiB) {
				t.Errorf("%s: %+v", address, m)
			}
			reading := report.reading(true)
			if reading.MemoryUsedMiB != nil && *reading.MemoryUsedMiB < 0 {
				t.Errorf("%s: %d MiB used", address, *reading.MemoryUsedMiB)
			}
		}
	})
}
