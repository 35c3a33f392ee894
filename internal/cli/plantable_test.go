package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/plan"
)

// TestPlanTables prints a plan that was written by hand, so that its numbers do not change with the planner.
func TestPlanTables(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("testdata", "plan.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var sharding v1alpha1.ShardingPlan
	if err := yaml.UnmarshalStrict(content, &sharding); err != nil {
		t.Fatal(err)
	}
	ranks, err := mesh.FromPlan(sharding.Name, &sharding.Spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	placed := &v1alpha1.ModelPlacement{}
	placed.Name, placed.Namespace = "chat", "team"
	d := decision{
		placement: placed, plan: &sharding, mesh: &v1alpha1.DeviceMesh{Spec: *ranks},
		free: map[string]map[v1alpha1.DeviceID]int64{
			"node-a": {"nvidia-0000:01:00.0": 80000, "nvidia-0000:41:00.0": 79000},
			"node-b": {"nvidia-0000:01:00.0": 46068, "nvidia-0000:41:00.0": 46068},
		},
	}
	for name, wide := range map[string]bool{"plan.txt": false, "plan-wide.txt": true} {
		var out bytes.Buffer
		if err := d.writeTo(&out, false, wide); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
	}
}

func TestShortfallTable(t *testing.T) {
	var out bytes.Buffer
	err := printShortfall(&out, &plan.Unplaceable{
		Reason: plan.ReasonTooLarge,
		Shortfall: v1alpha1.Shortfall{
			NeededMiB: 1 << 20, FreeMiB: 81559, FreeDevices: 1, LargestDeviceMiB: 81559, Suggestion: "12 more free NVIDIA H100 80GB HBM3",
		},
		Rejected: []v1alpha1.RejectedPlan{{Strategy: "TP8", Reason: "TooLarge", Message: "a device needs 128 GiB"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "shortfall.txt", out.String())
}
