package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestUtilizationIsReadAsItWasWritten(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	written := Utilization{metav1.NewTime(time.Date(2026, 5, 4, 13, 2, 3, 987, berlin)), map[v1alpha1.DeviceID]int64{"nvidia-b": 0, "nvidia-a": 100}}
	text, err := written.Text()
	const want = `{"readAt":"2026-05-04T12:02:03Z","percent":{"nvidia-a":100,"nvidia-b":0}}`
	if err != nil || text != want {
		t.Fatalf("%s, %v, want %s", text, err, want)
	}
	read, err := ParseUtilization(text)
	if diff := cmp.Diff(Utilization{metav1.NewTime(time.Date(2026, 5, 4, 12, 2, 3, 0, time.UTC)), written.Percent}, read); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if text, err := new(Utilization).Text(); text != "" || err != nil {
		t.Errorf("of nothing: %q, %v", text, err)
	}
}

func FuzzParseUtilization(f *testing.F) {
	for _, seed := range []string{"", "{}", "null", `{"percent":{"a":7}}`, `{"readAt":"2026-05-04T12:02:03Z","percent":{"a":100,"b":0}}`, `{"percent":{"a":-1}}`, `{"percent":{"a":101}}`, `{"percent":{"a":1.5}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseUtilization(text)
		if err != nil {
			return
		}
		for id, percent := range u.Percent {
			if percent < 0 || percent > 100 {
				t.Errorf("%s has %d %%", id, percent)
			}
		}
		if again, err := u.Text(); err == nil && again != "" {
			if _, err := ParseUtilization(again); err != nil {
				t.Error(err)
			}
		}
	})
}
