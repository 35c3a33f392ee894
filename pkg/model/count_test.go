package model

import "testing"

func TestParseParameters(t *testing.T) {
	for text, want := range map[string]int64{
		"70B": 70_000_000_000, "70b": 70_000_000_000, "70000000000": 70_000_000_000, "1.5B": 1_500_000_000, "0.5b": 500_000_000,
		"125M": 125_000_000, "1T": 1_000_000_000_000, "7": 7, "999999999999999T": 0,
		"": 0, "B": 0, "70G": 0, "70 B": 0, "-70B": 0, "Llama-3.1-70B": 0, "8x7B": 0, "1.5": 0, "70B-FP8": 0, ".5B": 0, "1e9": 0,
	} {
		if got, ok := ParseParameters(text); got != want || ok != (want != 0) {
			t.Errorf("%q is %d, %v; want %d", text, got, ok, want)
		}
	}
}

// TestNoNameIsANumber: no name of the catalogue is taken for a number of parameters.
func TestNoNameIsANumber(t *testing.T) {
	for _, name := range Names() {
		if n, ok := ParseParameters(name); ok {
			t.Errorf("%s is read as %d parameters", name, n)
		}
	}
}
