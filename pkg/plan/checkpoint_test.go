package plan

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/test/plantest"
)

// TestWhereWeightsComeFrom: a plan names the checkpoint that has its format, says what the engine makes of which, or that one must be
// brought.
func TestWhereWeightsComeFrom(t *testing.T) {
	h100 := fleet.NewCluster([]fleet.Node{plantest.Host("a", true, plantest.H100)})
	gaudi := plantest.Mi300x
	gaudi.Vendor, gaudi.Name, gaudi.Family, gaudi.MiB = "intel", "HL-325L (Gaudi3 OAM)", v1alpha1.FamilyASIC, 131072
	revision := func(s *plantest.Spec) { s.Model.Name, s.Model.Revision = plantest.Ptr("Qwen/Qwen3-32B"), "main" }
	for name, c := range map[string]struct {
		cluster              *fleet.Cluster
		model                string
		change               []func(*plantest.Spec)
		checkpoint, storedIn string
		says                 string // the first of the assumptions; nothing where empty
	}{
		"as stored":         {h100, "Qwen/Qwen3-32B", nil, "Qwen/Qwen3-32B", "", ""},
		"in other 16 bits":  {h100, "Qwen/Qwen3-32B", changes(plantest.Format("FP16")), "Qwen/Qwen3-32B", "BF16", ""},
		"published":         {h100, "Qwen/Qwen3-32B", changes(plantest.Format("FP8")), "Qwen/Qwen3-32B-FP8", "", "weights in FP8 are those of Qwen/Qwen3-32B-FP8; Qwen3-32B has them in BF16"},
		"made":              {h100, "Qwen/Qwen3-32B", changes(plantest.Format("FP8"), revision), "Qwen/Qwen3-32B", "BF16", "vLLM makes weights in FP8 of those in BF16 while it loads them, layer by layer"},
		"made of the whole": {h100, "Qwen/Qwen3-32B", changes(plantest.Format("FP8"), revision, plantest.EngineOf(v1alpha1.EngineSGLang)), "Qwen/Qwen3-32B", "BF16", "until then they take 61.0 GiB of a device"},
		"made nowhere":      {fleet.NewCluster([]fleet.Node{plantest.Host("a", true, gaudi)}), "Qwen/Qwen3-32B", changes(plantest.Format("FP8"), revision), "", "", "start it with one of your own"},
		"brought":           {h100, "Phi-2", changes(plantest.Format("NVFP4")), "", "", "no checkpoint of Phi-2 in NVFP4 is known, and vLLM makes none of another: start it with one of your own"},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustPlan(t, c.cluster, ask(published(t, c.model), 2048, 1, c.change...)).Model
			said := ""
			if len(got.Assumptions) > 0 {
				said = got.Assumptions[0]
			}
			if got.Checkpoint != c.checkpoint || string(got.StoredIn) != c.storedIn || (c.says == "") != (said == "") || !strings.Contains(said, c.says) {
				t.Errorf("checkpoint %q stored in %q, %q", got.Checkpoint, got.StoredIn, said)
			}
		})
	}
}

// TestRoomWhileLoading: SGLang has all weights in 16 bits on the devices before it makes FP8 of them. So those of a model that is not
// published in FP8 need as many devices as in BF16, and one that is fewer.
func TestRoomWhileLoading(t *testing.T) {
	for name, c := range map[string]struct {
		engine  v1alpha1.Engine
		pinned  bool
		devices int32
	}{
		"published": {v1alpha1.EngineSGLang, false, 1},
		"made":      {v1alpha1.EngineSGLang, true, 2},
		"by layers": {v1alpha1.EngineVLLM, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := published(t, "Llama-3.3-70B")
			if c.pinned {
				m = m.Pinned()
			}
			nodes := []fleet.Node{plantest.Host("a", true, plantest.Many(4, plantest.H100)...)}
			request := ask(m, 1024, 1, plantest.Format("FP8"), plantest.EngineOf(c.engine))
			spec := mustPlan(t, fleet.NewCluster(nodes), request)
			checkPlan(t, nodes, request, spec)
			if spec.Totals.Devices != c.devices {
				t.Errorf("%d devices, want %d", spec.Totals.Devices, c.devices)
			}
		})
	}
}

func changes(list ...func(*plantest.Spec)) []func(*plantest.Spec) { return list }
