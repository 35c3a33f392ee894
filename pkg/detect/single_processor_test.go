package detect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Hosts with many of what was once taken for one: each card, IPU and system is a device.
func TestEveryProcessorIsADevice(t *testing.T) {
	for name, test := range map[string]struct {
		backend        Backend
		vendor, device string
	}{
		"GroqCards":                {Groq(), "1de0", "0000"},
		"Graphcore C2":             {Graphcore(), "1d95", "0001"},
		"Graphcore C200":           {Graphcore(), "1d95", "0003"},
		"Graphcore, not known yet": {Graphcore(), "1d95", "0009"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSysfs(t)
			for i := range 8 {
				folder := s.pci(fmt.Sprintf("pci0000:00/0000:%02x:00.0", i+1), "driver", attributes{"vendor": "0x" + test.vendor, "device": "0x" + test.device, "class": "0x120000"})
				s.file(fmt.Sprintf("%s/someclass/node%d/uevent", folder, 7-i), fmt.Sprintf("DEVNAME=node%d", 7-i))
				s.must(s.AddDevice(fmt.Sprintf("/dev/node%d", 7-i)))
			}
			found := s.detect(test.backend)
			if len(found.Devices) != 8 || found.Degraded != "" {
				t.Fatalf("got %d devices, degraded %q", len(found.Devices), found.Degraded)
			}
			for i, d := range found.Devices {
				if len(d.Paths) != 1 || d.Paths[0] != fmt.Sprintf("/dev/node%d", 7-i) || d.Health.State != v1alpha1.Healthy {
					t.Errorf("got %+v", d)
				}
			}
		})
	}
}

// A device node alone is no device.
func TestNodesAloneAreNoDevices(t *testing.T) {
	s := newSysfs(t)
	for _, node := range []string{"/dev/groqA0.pci", "/dev/ipu0", "/dev/hailo0", "/dev/davinci0", "/dev/rngd/npu0pe0", "/dev/tenstorrent/0", "/dev/cerebras0"} {
		s.must(s.AddDevice(node))
	}
	for _, backend := range []Backend{Ascend(), Cerebras(), Furiosa(), Graphcore(), Groq(), Hailo(), Tenstorrent()} {
		if found := s.detect(backend); len(found.Devices) != 0 || found.Degraded != "" {
			t.Errorf("%s: got %+v", backend.Name(), found)
		}
	}
}

// refusing fails the test when a tool is run.
type refusing struct{ t *testing.T }

func (r refusing) Run(_ context.Context, argv ...string) (host.CommandResult, error) {
	r.t.Errorf("%v is run", argv)
	return host.CommandResult{}, host.ErrNoCommand
}

// On a host without a sign of such devices no tool is run.
func TestNoToolRunsWithoutASign(t *testing.T) {
	s := newSysfs(t)
	h := s.Host()
	h.Commands = refusing{t}
	for _, backend := range append(Backends(), WMI()) {
		if backend.Name() == (CPU()).Name() {
			continue
		}
		if found := detectOn(t, h, backend); len(found.Devices) != 0 {
			t.Errorf("%s: got %+v", backend.Name(), found.Devices)
		}
	}
}

// Systems on the network cannot be looked for without their tool: that is told, and a failure of it is one.
func TestNetworkedSystemsNeedTheirTool(t *testing.T) {
	for name, test := range map[string]struct {
		backend Backend
		sign    string
		argv    []string
	}{
		"Cerebras":  {Cerebras(), cerebrasConfig, []string{"csctl", "get", "cluster", "--system-only", "--output", "json"}},
		"Graphcore": {Graphcore(), graphcoreConfig + "/p.conf", []string{"gc-info", "-l"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSysfs(t)
			s.file(test.sign, "{}")
			if found := s.detect(test.backend); len(found.Devices) != 0 || !strings.Contains(found.Degraded, test.argv[0]) {
				t.Errorf("without commands: got %+v", found)
			}
			s.AllowCommands()
			if found := s.detect(test.backend); len(found.Devices) != 0 || !strings.Contains(found.Degraded, test.argv[0]) {
				t.Errorf("without the tool: got %+v", found)
			}
			s.must(s.AddCommand(host.CommandResult{ExitCode: 1, Stderr: []byte("connection refused")}, test.argv...))
			if _, err := test.backend.Detect(t.Context(), s.Host()); err == nil || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("the tool fails: %v", err)
			}
		})
	}
}

func TestCerebrasSystems(t *testing.T) {
	s := newSysfs(t)
	s.file(cerebrasConfig, "{}")
	argv := []string{"csctl", "get", "cluster", "--system-only", "--output", "json"}
	s.must(s.AddCommand(host.CommandResult{Stdout: []byte(`{"items":[{"meta":{"name":"a"}},{"meta":{}},{"meta":{"name":"b"}}]}`)}, argv...))
	s.must(s.AddCommand(host.CommandResult{Stdout: []byte(`{"items":[{"meta":{"name":"b"}}]}`)}, append(argv, "--error-only")...))
	found := s.detect(Cerebras())
	if len(found.Devices) != 2 || found.Devices[0].Health.State != v1alpha1.Healthy || found.Devices[1].Health.State != v1alpha1.Unhealthy {
		t.Errorf("got %+v", found.Devices)
	}
}

// The memory is known where the list names the product, by a field and not by what somebody calls the system.
func TestCerebrasMemory(t *testing.T) {
	for name, test := range map[string]struct {
		item, product string
		totalMiB      int64
	}{
		"the product":            {`{"meta":{"name":"a","properties":{"model":"CS-3"}}}`, "CS-3", 41 << 10},
		"the wafer":              {`{"meta":{"name":"a"},"spec":{"type":"wse2"}}`, "CS-2", 37.25 * 1024},
		"a name that means it":   {`{"meta":{"name":"cer-cs3-01"}}`, "Cerebras CS system", 0},
		"a product not in sight": {`{"meta":{"name":"a","properties":{"model":"CS-9"}}}`, "Cerebras CS system", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSysfs(t)
			s.file(cerebrasConfig, "{}")
			argv := []string{"csctl", "get", "cluster", "--system-only", "--output", "json"}
			s.must(s.AddCommand(host.CommandResult{Stdout: []byte(`{"items":["x",` + test.item + `]}`)}, argv...))
			s.must(s.AddCommand(host.CommandResult{Stdout: []byte(`{"items":[]}`)}, append(argv, "--error-only")...))
			d := s.detect(Cerebras()).Devices[0]
			var want *v1alpha1.DeviceMemory
			if test.totalMiB > 0 {
				want = &v1alpha1.DeviceMemory{TotalMiB: test.totalMiB, Source: v1alpha1.SourceCatalogue}
			}
			if diff := cmp.Diff(want, d.Memory); diff != "" || d.Product != test.product {
				t.Errorf("got %q\n%s", d.Product, diff)
			}
		})
	}
}

func TestCerebrasHealthIsNotAssumed(t *testing.T) {
	if health := cerebrasHealth("a", nil, errors.New("unknown flag")); health.State != v1alpha1.Unknown {
		t.Errorf("got %+v", health)
	}
}
