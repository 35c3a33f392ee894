package backend

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

func TestOverheated(t *testing.T) {
	for name, tc := range map[string]struct {
		input, critical string
		want            bool
	}{
		"below": {"60000", "100000", false}, "at it": {"100000", "100000", true}, "above": {"104000", "100000", true},
		"no limit": {"104000", "0", false}, "no such limit": {"104000", "N/A", false},
	} {
		t.Run(name, func(t *testing.T) {
			recording := host.NewRecording()
			for file, text := range map[string]string{"temp1_input": tc.input, "temp1_crit": tc.critical} {
				if err := recording.AddFile("/sys/d/hwmon/hwmon3/"+file, text); err != nil {
					t.Fatal(err)
				}
			}
			_, signs := ReadHwmon(recording.Host().Files, "/sys/d")
			if got := len(signs.Suspicions) == 1; got != tc.want {
				t.Errorf("suspicions %+v, want one: %t", signs.Suspicions, tc.want)
			}
		})
	}
}
