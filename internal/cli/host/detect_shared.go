package host

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
)

// printShared says of which devices the memory is the host's too, once for all that share as much of it.
func printShared(w io.Writer, devices []v1alpha1.Device) error {
	sharing := map[string][]v1alpha1.DeviceID{}
	for i := range devices {
		if m := devices[i].Memory; m != nil && m.Shared != nil {
			what := sharedText(m.Shared)
			sharing[what] = append(sharing[what], devices[i].ID)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(sharing)) {
		if _, err := fmt.Fprintf(w, "\nMemory shared with the host: %s\n  %s\n", what, term.IDs(sharing[what])); err != nil {
			return err
		}
	}
	return nil
}

func sharedText(s *v1alpha1.SharedMemory) string {
	var parts []string
	if s.CarveOutMiB > 0 {
		parts = append(parts, words.HumanMiB(s.CarveOutMiB)+" set aside by the firmware")
	}
	if s.HostMiB > 0 {
		parts = append(parts, words.HumanMiB(s.HostMiB)+" of the host's")
	}
	if len(parts) == 0 {
		return "how much is not known"
	}
	return strings.Join(parts, ", ")
}
