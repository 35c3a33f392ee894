package planning

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/pkg/launch"
)

// TestLaunchersAreThoseOfTheSchema compares the launchers with those that a placement can name.
func TestLaunchersAreThoseOfTheSchema(t *testing.T) {
	launcher := placementSchema(t).Properties["spec"].Properties["launch"].Properties["launcher"]
	var names []string
	for _, value := range launcher.ValueValidation.Enum {
		name, isText := value.Object.(string)
		if !isText {
			t.Fatalf("launcher %v is no text", value.Object)
		}
		names = append(names, name)
	}
	if diff := cmp.Diff(launch.Names(), names); diff != "" {
		t.Errorf("launchers and those of the schema (-want +got):\n%s", diff)
	}
}
