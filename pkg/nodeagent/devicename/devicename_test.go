package devicename

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestOf(t *testing.T) {
	tests := []struct {
		name string
		id   v1alpha1.DeviceID
		want string
	}{
		{"a label already", "google-accel0", "google-accel0"},
		{"an address", "nvidia-0000:17:00.0", "nvidia-0000-17-00-0-"},
		{"a partition", "nvidia-0000:17:00.0-mig7", "nvidia-0000-17-00-0-mig7-"},
		{"upper case", "qualcomm-A", "qualcomm-a-"},
		{"an end that no label has", "aws-neuron0-", "aws-neuron0-"},
		{"too long", v1alpha1.DeviceID("a" + strings.Repeat("b", 95)), "a" + strings.Repeat("b", 53) + "-"},
		{"cut at a hyphen", v1alpha1.DeviceID("a" + strings.Repeat("b", 52) + "-" + strings.Repeat("c", 20)), "a" + strings.Repeat("b", 52) + "-"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := Of(tc.id)
			if !strings.HasPrefix(got, tc.want) || got != tc.want && len(got) != len(tc.want)+hashLength {
				t.Errorf("%s, want %s and a hash where that ends with a hyphen", got, tc.want)
			}
		})
	}
}

// The name is part of what the API server keeps: another one for the same device would take it from its holders.
func TestOfNeverChanges(t *testing.T) {
	if got := Of("nvidia-0000:17:00.0"); got != "nvidia-0000-17-00-0-6daa46f5" {
		t.Error(got)
	}
}

// Every id has a name that the API takes, and two ids that differ have names that differ.
func TestNamesAreUniqueLabels(t *testing.T) {
	ids := rapid.StringMatching(`[a-z0-9][a-zA-Z0-9.:_-]{0,95}`)
	rapid.Check(t, func(t *rapid.T) {
		id := ids.Draw(t, "id")
		other := rapid.OneOf(ids, rapid.SampledFrom(neighbours(id))).Draw(t, "other")
		name := Of(v1alpha1.DeviceID(id))
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			t.Fatalf("%s has the name %s: %s", id, name, problems)
		}
		if id != other && name == Of(v1alpha1.DeviceID(other)) {
			t.Fatalf("%s and %s are both %s", id, other, name)
		}
	})
}

// neighbours are ids of which labels can have the same.
func neighbours(id string) []string {
	return []string{
		id + ".", id + "-", strings.ToUpper(id), strings.ReplaceAll(id, ":", "."), strings.ReplaceAll(id, "_", "-"), id + strings.Repeat("z", 70),
	}
}
