package launch

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// digestsOf are the digests of two copies of two pods each, which are all on one node.
func digestsOf(t *testing.T, edit func(*v1alpha1.DeviceMeshSpec)) []string {
	t.Helper()
	f := fixture{engine: v1alpha1.EngineTorch, strategy: degrees(1, 2, 1), options: Options{PodDevices: 1}}
	f.strategy.Replicas = 2
	plan, spec := f.plan(t)
	edit(spec)
	job, err := NewJob(plan, spec, f.options)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := job.Write("env")
	if err != nil {
		t.Fatal(err)
	}
	return bundle.Digests()
}

// A copy that moves away changes what the files say to its own pods alone, even where the copies shared a host and its ports.
func TestDigestsFollowTheCopyAlone(t *testing.T) {
	before := digestsOf(t, func(*v1alpha1.DeviceMeshSpec) {})
	after := digestsOf(t, func(spec *v1alpha1.DeviceMeshSpec) {
		for i := range spec.Members {
			if m := &spec.Members[i]; m.Replica == 0 {
				m.Node, m.Address = "n9", "10.0.0.9"
			}
		}
	})
	for pod, changed := range []bool{true, true, false, false} {
		if (before[pod] != after[pod]) != changed {
			t.Errorf("pod %d: digest %s and then %s", pod, before[pod], after[pod])
		}
	}
	if before[0] == before[1] {
		t.Error("two pods of a copy have other ranks and one digest")
	}
}
