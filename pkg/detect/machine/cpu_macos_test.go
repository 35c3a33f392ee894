package machine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/test/recordings/compose"
	"github.com/rankwright/rankwright/test/recordings/compose/probe"
)

func TestMacHost(t *testing.T) {
	command := "sysctl -n " + strings.Join(macFacts, " ")
	for name, test := range map[string]struct {
		commands map[string]string
		want     v1alpha1.Host
		degraded string
	}{
		"all": {map[string]string{command: "137438953472\n16\n16\n1\narm64\nApple M3 Max\n24.6.0\n"}, v1alpha1.Host{
			OS: "macOS 15.6", Kernel: "24.6.0", Memory: v1alpha1.HostMemory{TotalMiB: 128 << 10},
			CPU: v1alpha1.CPU{Model: "Apple M3 Max", Architecture: "arm64", Threads: 16, Cores: 16, Sockets: 1},
		}, ""},
		"an Intel Mac": {map[string]string{command: "17179869184\n8\n4\n1\nx86_64\nIntel(R) Core(TM) i5-1038NG7 CPU @ 2.00GHz\n22.6.0\n"}, v1alpha1.Host{
			OS: "macOS 15.6", Kernel: "22.6.0", Memory: v1alpha1.HostMemory{TotalMiB: 16 << 10},
			CPU: v1alpha1.CPU{Model: "Intel(R) Core(TM) i5-1038NG7 CPU @ 2.00GHz", Architecture: "amd64", Threads: 8, Cores: 4, Sockets: 1},
		}, ""},
		"a line is lacking": {map[string]string{command: "137438953472\n16\n"}, v1alpha1.Host{OS: "macOS 15.6"}, "2 lines for 7 names"},
		"no sysctl":         {nil, v1alpha1.Host{OS: "macOS 15.6"}, "command not found"},
	} {
		t.Run(name, func(t *testing.T) {
			found := probe.Detect(t, compose.Mac(t, test.commands), CPU())
			if diff := cmp.Diff(&test.want, found.Host); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(found.Degraded, test.degraded) || test.degraded == "" && found.Degraded != "" {
				t.Errorf("got degraded %q, want %q", found.Degraded, test.degraded)
			}
		})
	}
}

func FuzzMacFacts(f *testing.F) {
	f.Add("137438953472\n16\n16\n1\narm64\nApple M3 Max\n24.6.0\n")
	f.Add("-1\n99999999999\nx\n\n\n\n\n")
	f.Fuzz(func(t *testing.T, output string) {
		var facts v1alpha1.Host
		if err := takeMacFacts(&facts, output); err != nil {
			return
		}
		if facts.Memory.TotalMiB < 0 || facts.Memory.TotalMiB > backend.MaxMemoryMiB || min(facts.CPU.Threads, facts.CPU.Cores, facts.CPU.Sockets) < 0 {
			t.Errorf("%q: %+v", output, facts)
		}
	})
}
