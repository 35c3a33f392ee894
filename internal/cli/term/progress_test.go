package term

import (
	"strings"
	"testing"
	"time"
)

// TestProgress: a command is silent for two seconds, and then tells how far it is as often.
func TestProgress(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	p := NewProgress(&out, func() time.Time { return now })
	for i := range 50 {
		now = now.Add(100 * time.Millisecond)
		p.Tell("%d of 50", i+1)
	}
	if got, want := out.String(), "20 of 50\n40 of 50\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
