package serving

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// last prefers the devices that are last.
type last struct{}

// Choose takes the required ones and then the last.
func (last) Choose(available, required []v1alpha1.DeviceID, size int) []v1alpha1.DeviceID {
	chosen := slices.Clone(required)
	for _, d := range slices.Backward(available) {
		if len(chosen) < size && !slices.Contains(chosen, d) {
			chosen = append(chosen, d)
		}
	}
	return chosen
}

// wrong gives an answer whatever was asked.
type wrong struct{ answer []v1alpha1.DeviceID }

// Choose gives it.
func (w wrong) Choose([]v1alpha1.DeviceID, []v1alpha1.DeviceID, int) []v1alpha1.DeviceID {
	return w.answer
}

func TestPrefer(t *testing.T) {
	tests := []struct {
		name                string
		chooser             chooser
		available, required []string
		size                int
		want                []string
	}{
		{"what the chooser says", last{}, []string{"a", "b", "c"}, nil, 2, []string{"c", "b"}},
		{"with those required", last{}, []string{"a", "b", "c"}, []string{"a"}, 2, []string{"a", "c"}},
		{"all", last{}, []string{"b", "a"}, nil, 2, []string{"a", "b"}},
		{"fewer than asked", last{}, []string{"b", "a"}, nil, 5, []string{"a", "b"}},
		{"none", last{}, nil, nil, 1, nil},
		{"a chooser that says nothing", wrong{}, []string{"a", "b", "c"}, nil, 2, []string{"a", "b"}},
		{"a chooser that invents", wrong{[]v1alpha1.DeviceID{"x", "c", "c"}}, []string{"a", "b", "c"}, nil, 2, []string{"c", "a"}},
		{"shares of the least used device", last{}, []string{"a/0", "b/0", "b/1"}, nil, 1, []string{"b/0"}},
		{"shares of different devices", last{}, []string{"a/0", "a/1", "b/0", "b/1"}, nil, 2, []string{"a/0", "b/0"}},
		{"shares by turns", last{}, []string{"a/0", "a/1", "b/0", "b/1"}, nil, 3, []string{"a/0", "b/0", "a/1"}},
		{"a required share first", last{}, []string{"a/0", "a/1", "b/0", "b/1"}, []string{"a/1"}, 2, []string{"a/1", "b/0"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, prefer(tc.chooser, tc.available, tc.required, tc.size)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever is asked and whatever the chooser says: the answer has what is required, nothing but what is available, nothing
// twice, and as many as there are up to the size.
func TestPreferAlwaysAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var available, required []string
		shares := rapid.IntRange(1, 3).Draw(t, "shares")
		for i := range rapid.IntRange(0, 6).Draw(t, "devices") {
			for _, id := range offerIDs(v1alpha1.DeviceID("d-"+strconv.Itoa(i)), shares) {
				if rapid.Bool().Draw(t, "available") {
					available = append(available, id)
					if rapid.IntRange(0, 4).Draw(t, "required") == 0 {
						required = append(required, id)
					}
				}
			}
		}
		size := rapid.IntRange(len(required), 20).Draw(t, "size")
		c := rapid.SampledFrom([]chooser{last{}, wrong{}, wrong{[]v1alpha1.DeviceID{"d-0", "d-0", "x"}}}).Draw(t, "chooser")
		chosen := prefer(c, available, required, size)
		if len(chosen) != min(size, len(available)) {
			t.Fatalf("%d of %d: %v", len(chosen), size, chosen)
		}
		seen := map[string]bool{}
		for _, id := range chosen {
			if seen[id] || !slices.Contains(available, id) {
				t.Fatalf("%s in %v of %v", id, chosen, available)
			}
			seen[id] = true
		}
		for _, id := range required {
			if !seen[id] {
				t.Fatalf("%s is required and not in %v", id, chosen)
			}
		}
	})
}
