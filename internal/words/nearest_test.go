package words

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNearest(t *testing.T) {
	names := []string{"amd", "amdxdna", "gaudi", "neuron", "nvidia", "tpu"}
	tests := map[string]struct {
		wanted string
		most   int
		want   []string
	}{
		"a letter too many":     {"nvidiaa", 1, []string{"nvidia"}},
		"two letters exchanged": {"nvdiia", 1, []string{"nvidia"}},
		"another case":          {"TPU", 1, []string{"tpu"}},
		"a beginning":           {"neu", 1, []string{"neuron"}},
		"the second nearest":    {"amdxdn", 2, []string{"amdxdna", "amd"}},
		"nothing":               {"", 1, []string{"amd"}},
		"more than there are":   {"x", 9, []string{"amd", "tpu", "gaudi", "amdxdna", "neuron", "nvidia"}},
		"very long":             {strings.Repeat("x", 1<<20), 1, []string{"amdxdna"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Nearest(test.wanted, names, test.most)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
