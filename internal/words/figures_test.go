package words

import "testing"

func TestFigure(t *testing.T) {
	for _, test := range []struct {
		value, low, high float64
		want             string
	}{
		{1803, 1503, 2163, "1800"},
		{1803, 1500, 2165, "1800"},
		{1803, 1640, 1983, "1800"},
		{1807, 1640, 1990, "1810"},
		{541.4, 422, 695, "540"},
		{41.23, 35.3, 48.1, "41.2"},
		{41.23, 30, 60, "41"},
		{0.012345, 0.01, 0.02, "0.012"},
		{99.7, 60, 160, "100"},
		{7, 7, 7, "7"},
		{7.126, 0, 0, "7.13"},
		{0, 0, 0, "0"},
	} {
		if got := Figure(test.value, Digits(test.low, test.high)); got != test.want {
			t.Errorf("%v (%v to %v): %s, want %s", test.value, test.low, test.high, got, test.want)
		}
	}
}
