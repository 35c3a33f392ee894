package nodeagent_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// The agents of these tests detect once an hour: what they put right, they saw.

func TestLabelRemovedComesBack(t *testing.T) {
	s := newSite(t, "own-removed")
	s.nvidia.set(gpu(0))
	s.run()
	s.published(1)
	s.setLabel("nvidia.count", nil)
	s.await("the label to come back", func() bool { return s.labels()["nvidia.count"] == "1" })
	if got := s.nvidia.scanned(); got != 1 {
		t.Errorf("%d detections, want the first alone", got)
	}
}

func TestLabelChangedIsAConditionUntilItIsGivenUp(t *testing.T) {
	s := newSite(t, "own-changed")
	s.nvidia.set(gpu(0))
	s.run()
	s.published(1)
	s.setLabel("nvidia.count", "many")
	s.await("the conflict", func() bool { return s.labelled().Reason == "Conflict" })
	if got := s.labels()["nvidia.count"]; got != "many" {
		t.Errorf("count = %q, want the stranger's", got)
	}
	s.setLabel("nvidia.count", nil)
	s.await("the label to come back", func() bool { return s.labels()["nvidia.count"] == "1" && s.labelled().Status == "True" })
}

// setLabel writes a label of the product's as a stranger does.
func (s *site) setLabel(name string, value any) {
	s.t.Helper()
	patch := map[string]any{"metadata": map[string]any{"labels": map[string]any{v1alpha1.Prefix + name: value}}}
	if err := s.admin.Patch(s.t.Context(), s.nodeKey(), mergePatch(s.t, patch), client.FieldOwner("a-stranger")); err != nil {
		s.t.Fatal(err)
	}
}

// applyLabel writes a label by server-side apply, by force where somebody else holds it.
func (s *site) applyLabel(name, value string) {
	s.t.Helper()
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"labels":{%q:%q}}}`, s.name, v1alpha1.Prefix+name, value)
	err := s.admin.Patch(s.t.Context(), s.nodeKey(), client.RawPatch(types.ApplyPatchType, []byte(body)),
		client.FieldOwner("a-stranger"), client.ForceOwnership)
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) labelled() metav1.Condition {
	s.t.Helper()
	if c := meta.FindStatusCondition(s.inventory().Status.Conditions, v1alpha1.ConditionLabelled); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// The garbage collector, which does not run here, need not have deleted the inventory.
func TestNodeReplacedIsSeenWithoutADetection(t *testing.T) {
	s := newSiteFor(t, "own-replaced")
	s.agent = s.newAgent(cluster.Config())
	s.nvidia.set(gpu(0))
	s.run()
	s.published(1)
	if err := s.admin.Delete(t.Context(), s.nodeKey()); err != nil {
		t.Fatal(err)
	}
	anew := s.createNode()
	s.await("the inventory to be the new Node's", func() bool {
		owners := s.inventory().OwnerReferences
		return len(owners) == 1 && owners[0].UID == anew.UID
	})
	s.await("the labels", func() bool { return s.labels()["nvidia.count"] == "1" })
	if got := s.nvidia.scanned(); got != 1 {
		t.Errorf("%d detections, want the first alone", got)
	}
}

// nodeWrites counts an agent's writes to Nodes, and to inventories.
type nodeWrites struct{ nodes, inventories atomic.Int64 }

func (w *nodeWrites) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet {
			switch {
			case strings.Contains(request.URL.Path, "/nodes/"):
				w.nodes.Add(1)
			case strings.Contains(request.URL.Path, "/acceleratorinventories/"):
				w.inventories.Add(1)
			}
		}
		return next.RoundTrip(request)
	})
}

// Another manager writes the same labels in a loop, in every way that there is; the agent must not answer each time.
func TestNoWriteWar(t *testing.T) {
	const rounds = 100
	// A label that goes away again and again is written at once the first time, and then after 10 s at the earliest; a test
	// that takes a minute sees at most three more.
	tests := map[string]func(s *site, round int){
		"changes":             func(s *site, round int) { s.setLabel("nvidia.count", fmt.Sprint(round)) },
		"removes":             func(s *site, _ int) { s.setLabel("nvidia.count", nil) },
		"changes and removes": func(s *site, round int) { s.setLabel("nvidia.count", []any{"x", nil}[round%2]) },
		"applies by force":    func(s *site, round int) { s.applyLabel("nvidia.count", fmt.Sprint(round)) },
	}
	for about, strike := range tests {
		t.Run(about, func(t *testing.T) {
			s := newSiteFor(t, "war-"+strings.ReplaceAll(about, " ", "-"))
			var writes nodeWrites
			config := rest.CopyConfig(agentConfig(t, s.node))
			config.Wrap(writes.wrap)
			s.agent = s.newAgent(config)
			s.nvidia.set(gpu(0))
			s.run()
			s.published(1)
			writes.nodes.Store(0)
			writes.inventories.Store(0)
			for round := range rounds {
				strike(s, round)
				before := s.nvidia.scanned()
				s.agent.Rescan() // whatever makes it publish, at the worst moment
				s.await("a detection", func() bool { return s.nvidia.scanned() > before })
			}
			nodes, inventories := writes.nodes.Load(), writes.inventories.Load()
			t.Logf("%d strikes: %d writes to the Node, %d to the inventory", rounds, nodes, inventories)
			if nodes > 8 || inventories > 16 {
				t.Errorf("%d writes to the Node and %d to the inventory for %d strikes", nodes, inventories, rounds)
			}
		})
	}
}
