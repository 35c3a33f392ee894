package nodeagent_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/gpuerrors"
)

// While the GPU operator changes the driver, no process of the agent holds the driver, and the inventory says so; then all is as
// before, without a restart.
func TestDriverIsLetGoOfForAnUpgrade(t *testing.T) {
	const label = "nvidia.com/gpu-driver-upgrade-state"
	gpuErrors := gpuerrors.New()
	s, server := newServerSite(t, "upgrade", gpuErrors)
	server.older = true // without the monitor, errors are not seen
	s.run()
	s.await("all eight healthy", s.has(map[string]int{"Healthy": 8}))

	setLabel := func(value string) {
		t.Helper()
		node := s.nodeKey()
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+label+`":`+value+`}}}`))
		if err := s.admin.Patch(t.Context(), node, patch); err != nil {
			t.Fatal(err)
		}
	}
	setLabel(`"pod-restart-required"`)
	s.await("the driver to be let go of", func() bool {
		c := meta.FindStatusCondition(s.inventory().Status.Conditions, v1alpha1.ConditionMonitored)
		return c != nil && c.Status == "False" && strings.Contains(c.Message, "is let go of, so that it can be changed: label "+label+"=pod-restart-required")
	})
	if !s.inventory().Status.Devices[0].Usable() {
		t.Error("what is merely not watched is not usable")
	}
	setLabel(`null`)
	gpuErrors.Lines <- gpuerrors.Watching
	s.pass("all eight healthy again", s.has(map[string]int{"Healthy": 8}))
}
