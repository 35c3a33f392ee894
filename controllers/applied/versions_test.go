package applied

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestVersionsKnowThatACacheIsBehind(t *testing.T) {
	shown := func(uid types.UID, version string) *v1alpha1.DeviceMesh {
		return &v1alpha1.DeviceMesh{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "m", UID: uid, ResourceVersion: version}}
	}
	wrote := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		shown *v1alpha1.DeviceMesh
		after time.Duration
		want  bool
	}{
		"what was there before the write":                  {shown("1", "7"), time.Second, true},
		"what was written":                                 {shown("1", "12"), time.Second, false},
		"what somebody wrote later":                        {shown("1", "13"), time.Second, false},
		"another object of that name":                      {shown("2", "7"), time.Second, false},
		"a version that cannot be compared":                {shown("1", "x"), time.Second, false},
		"too long ago: versions went back, as by a backup": {shown("1", "7"), time.Minute, false},
		"the clock was set back":                           {shown("1", "7"), -time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			var v Versions
			v.Note(shown("1", "7"), "12", wrote)
			if got := v.After(c.shown, wrote.Add(c.after)); got != c.want {
				t.Errorf("behind: %v, want %v", got, c.want)
			}
			v.Forget(types.NamespacedName{Namespace: "n", Name: "m"})
			if v.After(shown("1", "7"), wrote) {
				t.Error("a mesh that was forgotten is remembered")
			}
		})
	}
}
