package furiosa

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// furiosa adds an NPU whose class device has no link to it: the driver writes the address into busname.
func (s tree) furiosa(bus, device, class, member string, files compose.Attributes, nodes ...string) {
	s.Helper()
	folder := s.Function("pci0000:00/0000:"+bus+":00.0", "furiosa_rngd", compose.Attributes{"vendor": "0x1ed2", "device": "0x" + device, "class": "0x120000"})
	own := path.Join("/sys/class", class, member)
	s.File(own+"/busname", path.Base(folder)+"\n")
	for name, content := range files {
		s.File(path.Join(own, name), content+"\n")
	}
	for _, node := range nodes {
		s.Must(s.AddDevice(node))
	}
}

func TestFuriosaNodesAreThoseOfTheKernelsNumber(t *testing.T) {
	s := newTree(t)
	s.furiosa("8b", "0001", "rngd_mgmt", "rngd!npu10mgmt", compose.Attributes{"device_state": "1"}, "/dev/rngd/npu10pe0")
	s.furiosa("8c", "0001", "rngd_mgmt", "rngd!npu1mgmt", compose.Attributes{"device_state": "1", "device_uuid": "C0413086", "version": "2026.3.1, e28c5c0"}, "/dev/rngd/npu1mgmt", "/dev/rngd/npu1pe0-3")
	found := s.Detect(NPU())
	if got := found.Devices[1]; !slices.Equal(got.Paths, []string{"/dev/rngd/npu1mgmt", "/dev/rngd/npu1pe0-3"}) ||
		*got.Index != 1 || got.UUID != "C0413086" || got.DriverVersion != "2026.3.1, e28c5c0" || got.Product != "RNGD" {
		t.Errorf("got %+v", got)
	}
}

func TestFuriosaHealth(t *testing.T) {
	for name, test := range map[string]struct {
		device, class, member string
		files                 compose.Attributes
		want                  string
	}{
		"RNGD alive":      {"0001", "rngd_mgmt", "rngd!npu0mgmt", compose.Attributes{"device_state": "1"}, "Healthy "},
		"RNGD not alive":  {"0001", "rngd_mgmt", "rngd!npu0mgmt", compose.Attributes{"device_state": "0"}, "Unhealthy NotAlive"},
		"RNGD says else":  {"0001", "rngd_mgmt", "rngd!npu0mgmt", compose.Attributes{"device_state": "resetting"}, "Unknown NotMonitored"},
		"RNGD-S silent":   {"2222", "rngd_mgmt", "rngd!npu0mgmt", nil, "Unknown NotMonitored"},
		"Warboy alive":    {"0000", "npu_mgmt", "npu0_mgmt", compose.Attributes{"alive": "1"}, "Healthy "},
		"another's class": {"0000", "rngd_mgmt", "rngd!npu0mgmt", compose.Attributes{"device_state": "1"}, "Unknown DeviceNodeMissing"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.furiosa("8b", test.device, test.class, test.member, test.files, "/dev/rngd/npu0pe0", "/dev/npu0pe0")
			health := s.Detect(NPU()).Devices[0].Health
			if got := string(health.State) + " " + health.Reason; got != test.want {
				t.Errorf("got %q, want %q: %s", got, test.want, health.Message)
			}
		})
	}
}

func TestFuriosaStatusIsMatchedByName(t *testing.T) {
	s := newTree(t)
	s.furiosa("8b", "0001", "rngd_mgmt", "rngd!npu1mgmt", compose.Attributes{"device_state": "1"}, "/dev/rngd/npu1pe0")
	s.furiosa("8c", "0001", "rngd_mgmt", "rngd!npu0mgmt", compose.Attributes{"device_state": "1"}, "/dev/rngd/npu0pe0")
	s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(`[{"device":"npu0","memory":{"DRAM":{"used_size":40802189312,"total_size":51002736640}},
		"pe_utilizations":[{"pe_utilization":100.0},{"pe_utilization":50.0}]},{"device":"npu1","memory":{"DRAM":{"used_size":9,"total_size":-1}}}]`)},
		"furiosa-smi", "status", "--format", "json"))
	found := s.Detect(NPU())
	want := &v1alpha1.DeviceMemory{TotalMiB: 48640, UsedByOthersMiB: 38912, Source: v1alpha1.SourceDriver}
	if diff := cmp.Diff(want, found.Devices[1].Memory); diff != "" {
		t.Error(diff)
	}
	if *found.Readings["furiosa-0000:8c:00.0"].UtilizationPercent != 75 {
		t.Errorf("got %+v", found.Readings)
	}
	if first := found.Devices[0].Memory; first.Source != v1alpha1.SourceCatalogue || first.TotalMiB != 48<<10 {
		t.Errorf("an impossible total is reported: %+v", first)
	}
}

func TestFuriosaToolFails(t *testing.T) {
	s := newTree(t)
	s.furiosa("8b", "0001", "rngd_mgmt", "rngd!npu0mgmt", compose.Attributes{"device_state": "1"}, "/dev/rngd/npu0pe0")
	s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(`{"error":1}`)}, "furiosa-smi", "status", "--format", "json"))
	if found := s.Detect(NPU()); len(found.Devices) != 1 || !strings.Contains(found.Degraded, "furiosa-smi status") {
		t.Errorf("got %+v", found)
	}
}
