package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// An anonymous recording gives the inventory of the original, but for what was replaced.
func TestAnonymousRecordings(t *testing.T) {
	for _, name := range sampledNames() {
		t.Run(name, func(t *testing.T) {
			recording := recordings[name]()
			if err := recording.Err(); err != nil {
				t.Fatal(err)
			}
			anonymous, replacements, err := detect.Anonymize(recording.Recording)
			if err != nil {
				t.Fatal(err)
			}
			want := replacements.Apply(inventoryText(t, recording.Host()))
			if diff := cmp.Diff(want, inventoryText(t, anonymous.Host())); diff != "" {
				t.Errorf("differs by more than the replacements (-want +got):\n%s", diff)
			}
		})
	}
}

func inventoryText(t *testing.T, h *host.Host) string {
	t.Helper()
	status, err := json.MarshalIndent(detect.Detect(t.Context(), h, detect.Options{}).Status, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(status)
}
