package detect

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Of several problems the first one tells, and a backend that is well has no kind.
func TestErrorKindIsInTheStatus(t *testing.T) {
	var degraded backend.Found
	degraded.Degrade(nil, fmt.Errorf("first: %w", fs.ErrPermission), host.ErrTooLarge)
	panicked := outcome{backend: "panicked", err: errPanicked}
	report := join([]outcome{
		{backend: "degraded", found: degraded},
		{backend: "worded", found: backend.Found{Degraded: "half of it"}},
		{backend: "well"},
		{backend: "invented", found: backend.Found{Degraded: "half of it", ErrorKind: "Invented"}},
		{backend: "left out", found: backend.Found{Devices: []v1alpha1.Device{{ID: "no vendor"}}}},
		panicked,
	})
	want := map[string]v1alpha1.ErrorKind{
		"degraded": v1alpha1.ErrorPermissionDenied, "worded": v1alpha1.ErrorOther, "well": "", "invented": v1alpha1.ErrorOther,
		"left out": v1alpha1.ErrorOther, "panicked": v1alpha1.ErrorDefect,
	}
	for _, b := range report.Status.Backends {
		if b.ErrorKind != want[b.Name] {
			t.Errorf("%s: %q, want %q (%s)", b.Name, b.ErrorKind, want[b.Name], b.Message)
		}
	}
}
