package machine

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

func TestBootTime(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want int64
	}{
		"as the kernel prints it": {"cpu  1 2 3\nintr 5 0\nbtime 1767323045\nprocesses 9\n", 1767323045},
		"none":                    {"cpu 1\n", 0},
		"no number":               {"btime soon\n", 0},
		"negative":                {"btime -1\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			recording := host.NewRecording()
			if err := recording.AddFile("/proc/stat", tc.text); err != nil {
				t.Fatal(err)
			}
			got := Booted(recording.Host().Files)
			if tc.want == 0 && !got.IsZero() || tc.want != 0 && got.Unix() != tc.want {
				t.Errorf("%v, want %d", got, tc.want)
			}
		})
	}
}
