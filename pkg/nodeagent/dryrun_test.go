package nodeagent

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestDryRun(t *testing.T) {
	linked := status(backends(backendIs("nvidia", v1alpha1.BackendFound)), h100(0), h100(1, usedByOthers(4096)))
	linked.Links.Domains = []v1alpha1.LinkDomain{nvSwitch(h100(0), h100(1))}
	linked.Host = v1alpha1.Host{CPU: v1alpha1.CPU{Model: "Xeon", Cores: 64}, Memory: v1alpha1.HostMemory{TotalMiB: 1 << 20}}
	tests := []struct {
		name   string
		status v1alpha1.AcceleratorInventoryStatus
	}{
		{"two-h100", linked},
		{"failed-backend", status(backends(backendIs("nvidia", v1alpha1.BackendFailed)))},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := DryRun("gpu-node-1", "v1.2.3", tc.status)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "dry-run-"+tc.name+".yaml")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("output differs from %s; run with -update where that is meant (-want +got):\n%s", golden, diff)
			}
		})
	}
}
