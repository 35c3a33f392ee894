package accelerator

import "testing"

func TestStacks(t *testing.T) {
	for word, want := range map[string][2]string{
		"cuda": {"nvidia", "nvidia"}, "CUDA": {"nvidia", "nvidia"}, "rocm": {"amd", "amd"}, "oneAPI": {"intel", "intel-gpu"}, "neuron": {"aws", "neuron"},
		"nvidia": {"nvidia", "nvidia"}, "gaudi": {"gaudi", "gaudi"}, "": {"", ""},
	} {
		if got := [2]string{Vendor(word), Backend(word)}; got != want {
			t.Errorf("%q is %v, want %v", word, got, want)
		}
	}
}

// TestVendorsOfStacks: every stack is of a vendor that the catalogue has.
func TestVendorsOfStacks(t *testing.T) {
	vendors := map[string]bool{}
	for _, p := range Products() {
		vendors[p.Vendor] = true
	}
	for word, s := range stacks {
		if !vendors[s.vendor] {
			t.Errorf("%s is of %s, of which there is no product", word, s.vendor)
		}
	}
}
