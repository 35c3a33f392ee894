package accelerator

import (
	"strings"
	"testing"
)

func TestComputeUnits(t *testing.T) {
	for name, want := range map[string]int32{"NVIDIA H100 80GB HBM3": 132, "AMD Instinct MI300X": 304, "TPU v4": 0} {
		product, ok := Lookup(Key{Product: name})
		if !ok || product.ComputeUnits != want {
			t.Errorf("%s: %d compute units, want %d", name, product.ComputeUnits, want)
		}
	}
}

func TestComputeUnitsThatAreWrong(t *testing.T) {
	const header = "product,compute_units,source\n"
	for name, test := range map[string]struct{ text, want string }{
		"unknown product": {"NVIDIA X,1,a", `product "NVIDIA X": no row`},
		"no number":       {"NVIDIA L4,many,a", `compute_units "many"`},
		"nothing":         {"NVIDIA L4,,a", "give a number of compute units"},
		"no source":       {"NVIDIA L4,58,", "and its source"},
		"twice":           {"NVIDIA L4,58,a\nNVIDIA L4,60,b", "is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse(productsCSV, aliasesCSV, reportedCSV, header+test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
