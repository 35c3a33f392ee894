package planning

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// TestPlanTables prints plans that were written by hand, so that their numbers do not change with the planner.
func TestPlanTables(t *testing.T) {
	of := func(mib ...int64) mesh.Host {
		status := &v1alpha1.AcceleratorInventoryStatus{}
		for i, id := range []v1alpha1.DeviceID{"nvidia-0000:01:00.0", "nvidia-0000:41:00.0", "nvidia-0000:81:00.0", "nvidia-0000:c1:00.0"} {
			status.Devices = append(status.Devices, v1alpha1.Device{ID: id, Vendor: "nvidia", Memory: &v1alpha1.DeviceMemory{TotalMiB: mib[i]}})
		}
		return mesh.Host{Inventory: status}
	}
	hosts := mesh.Hosts{"node-a": of(80000, 79000, 78500, 80000), "node-b": of(46068, 46068, 45000, 46068)}
	for _, test := range []struct {
		plan, golden string
		output       term.Format
	}{
		{"plan.yaml", "plan.txt", "table"},
		{"plan.yaml", "plan-wide.txt", "wide"},
		{"plan-shapes.yaml", "plan-shapes.txt", "table"},
	} {
		d := decisionOf(t, test.plan)
		d.hosts = hosts
		out := term.Page{Wide: test.output.Wide()}
		d.show(&out, test.output)
		clitest.Golden(t, test.golden, out.String())
	}
}

// decisionOf reads a plan and makes its mesh.
func decisionOf(t *testing.T, file string) *decision {
	t.Helper()
	content, err := os.ReadFile(clitest.Testdata(t, file))
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
	return &decision{placement: placed, plan: &sharding, mesh: &v1alpha1.DeviceMesh{Spec: *ranks}}
}

func TestShortfallTable(t *testing.T) {
	var out term.Page
	printShortfall(&out, &plan.Unplaceable{
		Reason: shape.ReasonTooLarge,
		Shortfall: v1alpha1.Shortfall{
			NeededMiB: 1 << 20, FreeMiB: 81559, FreeDevices: 1, LargestDeviceMiB: 81559,
			Suggestions: []v1alpha1.Suggestion{{Kind: "Precision", Change: "quantization INT4 instead of FP8"}, {Kind: "Context", Change: "maxModelLen 8192 instead of 131072"}},
		},
		Rejected: []v1alpha1.RejectedPlan{{Strategy: "TP8", Reason: "TooLarge", Message: "a device needs 128 GiB"}},
	})
	clitest.Golden(t, "shortfall.txt", out.String())
}
