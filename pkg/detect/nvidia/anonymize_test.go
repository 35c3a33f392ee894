package nvidia_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// What nvidia-smi really prints is understood as before when identifiers are replaced in it.
func TestAnonymousCaptures(t *testing.T) {
	for _, name := range []string{"qx-a100.xml", "qx-h100.xml.gz", "qx-b200.xml.gz", "qx-l40s.xml", "qx-t4.xml"} {
		t.Run(name, func(t *testing.T) {
			recording := reportHost(t, string(facts.Read(t, "captures/nvidia-smi/"+name)))
			anonymous, replacements, err := detect.Anonymize(recording.Recording)
			if err != nil {
				t.Fatal(err)
			}
			inventory := func(h *host.Host) string {
				status, err := json.MarshalIndent(detect.Detect(t.Context(), h, detect.Options{}).Status, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				return string(status)
			}
			if diff := cmp.Diff(replacements.Apply(inventory(recording.Replay(t))), inventory(anonymous.Host())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
