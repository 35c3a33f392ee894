package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestRunningPlacement shows what is known of a placement only once it ran: what its engines do, what verification measured and found, which rank was lost, and
// that an earlier plan still holds devices. It is read from objects that were saved from a cluster.
func TestRunningPlacement(t *testing.T) {
	w := written(t)
	plan, mesh := &w.state.Plans[0], &w.state.Meshes[0]
	var placement *v1alpha1.ModelPlacement
	for i := range w.state.Placements {
		if p := &w.state.Placements[i]; p.Name == plan.Spec.Placement.Name {
			placement = p
		}
	}
	placement.Status.Observed = &v1alpha1.ObservedService{Requests: 1200, InputTokens: 512, OutputTokens: 128, Concurrency: 17, TokensPerSecond: 1234, TTFTMillis: 456, TPOTMicros: 20789}
	placement.Status.Conditions = append(placement.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionAsEstimated, Status: metav1.ConditionFalse, Reason: "Slower", Message: "20.8 ms a token where 9 to 13 are estimated",
	})
	group := mesh.Spec.Groups[0].Name
	mesh.Status.Verified = []v1alpha1.VerifiedBandwidth{{Group: group, MBps: 9000, PlannedMBps: 11000, LatencyMicros: 120}}
	mesh.Status.SlowestLinks = []v1alpha1.SlowestLink{{Group: group, Kind: "NVLink", MBps: 450000, Ranks: []int32{0, 1}}}
	lost := mesh.Spec.Members[0]
	mesh.Status.LostRanks = []v1alpha1.LostRank{{Rank: 1, Node: lost.Node, Device: lost.Devices[1], Reason: "DeviceUnhealthy"}}
	mesh.Status.Findings = []v1alpha1.VerificationFinding{{Reason: "LinkSlow", Pod: v1alpha1.MeshEnd{Node: lost.Node}, Group: group, MBps: 12, ExpectedMBps: 900, Message: "from rank 0 to rank 1: 12 MB/s of 900"}}
	earlier := plan.DeepCopy()
	earlier.Name, earlier.Status = plan.Name+"-earlier", v1alpha1.ShardingPlanStatus{}
	saved := filepath.Join(t.TempDir(), "saved.yaml")
	kinds := map[string]metav1.TypeMeta{}
	for _, kind := range []string{"ModelPlacement", "ShardingPlan", "DeviceMesh"} {
		kinds[kind] = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}
	}
	placement.TypeMeta, plan.TypeMeta, earlier.TypeMeta, mesh.TypeMeta = kinds["ModelPlacement"], kinds["ShardingPlan"], kinds["ShardingPlan"], kinds["DeviceMesh"]
	text := strings.Join([]string{document(t, placement), document(t, earlier), document(t, plan), document(t, mesh)}, "---\n")
	if err := os.WriteFile(saved, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	b := open(t, serve(t, w.files[0], w.files[1], "-f", saved).address, 1440, 1000)
	b.run(`location.hash = '#/placements/` + placement.Namespace + "/" + placement.Name + `'`)
	b.awaits(`document.querySelector('.detail .findings')`)
	want := ofFleet(w.fleet).ofPlan(plan, mesh)
	want.add("observed", placement.Status.Observed)
	b.hold(".detail", want)
	shown := map[string]bool{}
	for _, n := range b.numbers(".detail") {
		shown[n.Name] = true
	}
	of := "groups." + group + "."
	for _, name := range []string{
		"observed.tokensPerSecond", "observed.ttftMillis", "observed.tpotMicros", "observed.concurrency",
		of + "verified.mbps", of + "verified.plannedMBps", of + "verified.latencyMicros", of + "slowest.mbps", of + "slowest.ranks.1",
	} {
		if !shown[name] {
			t.Errorf("the page does not show %s", name)
		}
	}
	for selector, want := range map[string]string{
		".findings li":             "LinkSlow from rank 0 to rank 1: 12 MB/s of 900",
		".rank.trouble .tag":       "DeviceUnhealthy",
		".detail > .note, .detail": "Other plans of this placement hold devices, too: " + earlier.Name,
		".detail":                  "20.8 ms a token where 9 to 13 are estimated",
	} {
		if got := get[string](b, `document.querySelector('`+selector+`').textContent`); !strings.Contains(got, want) {
			t.Errorf("%s says %q, want %q", selector, got, want)
		}
	}
	b.picture("ui-running")
}
