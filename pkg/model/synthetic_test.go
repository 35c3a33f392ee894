package model

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/pkg/engine"
)

// TestSyntheticModelsHaveTheirParameters bounds the error of the made-up architecture from both sides.
func TestSyntheticModelsHaveTheirParameters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Orders of magnitude alike, not only the largest.
		n := rapid.Int64Range(1000, 9999).Draw(t, "digits")
		for range rapid.IntRange(3, 10).Draw(t, "zeros") {
			n *= 10
		}
		m, err := FromParameters(n)
		if err != nil {
			t.Fatal(err)
		}
		if counted := m.Parameters(); counted < n || counted > n+n/50 {
			t.Fatalf("%d parameters for %d: %+v", counted, n, m.Architecture)
		}
		a := m.Architecture
		if ratio := float64(a.MLP.IntermediateSize) / float64(a.HiddenSize); ratio < 2 || ratio > 8 {
			t.Fatalf("%d: block of %d in a stream of %d", n, a.MLP.IntermediateSize, a.HiddenSize)
		}
		if !m.Synthetic || len(m.Assumptions) != 1 || len(m.Assumptions[0]) > 512 {
			t.Fatalf("synthetic %v, assumptions %q", m.Synthetic, m.Assumptions)
		}
	})
}

func TestSyntheticModelsSplitOverEightDevices(t *testing.T) {
	for _, n := range []int64{1_000_000_000, 7_000_000_000, 70_000_000_000, 405_000_000_000, 1_000_000_000_000} {
		m, err := FromParameters(n)
		if err != nil {
			t.Fatal(err)
		}
		if degrees := engine.TensorDegrees(&m.Architecture, 8); len(degrees) != 4 {
			t.Errorf("%s: degrees %v, want 1, 2, 4 and 8", m.Name, degrees)
		}
	}
}

func TestFromParametersRefuses(t *testing.T) {
	for _, n := range []int64{-1, 0, minParameters - 1, maxParameters + 1} {
		if _, err := FromParameters(n); err == nil || !strings.Contains(err.Error(), "give a number from 1000000 to") {
			t.Errorf("%d: error %v", n, err)
		}
	}
}

func TestSyntheticNames(t *testing.T) {
	for n, want := range map[int64]string{
		70_000_000_000: "synthetic-70B", 1_500_000_000: "synthetic-1.5B", 125_000_000: "synthetic-125M", 1_000_000_000_000: "synthetic-1T",
	} {
		if m, err := FromParameters(n); err != nil || m.Name != want {
			t.Errorf("%d: %v, %v; want %s", n, m, err, want)
		}
	}
}
