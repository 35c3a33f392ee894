package mesh

import (
	"math"
	"strings"
	"testing"
)

type sizes = map[string]int

// wantError fails unless the error says something.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want it to contain %q", err, want)
	}
}

// made is a mesh that must be possible.
func made(t testing.TB, order string, sizes map[string]int) *Mesh {
	t.Helper()
	m, err := New(order, sizes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestForWorld(t *testing.T) {
	for _, test := range []struct {
		world int
		sizes sizes
		want  string
	}{
		{8, sizes{"tp": 4, "pp": 2}, ""},
		{12, sizes{"tp": 4, "pp": 2}, "tp4 pp2 makes 8 ranks, and there are 12 devices: 4 would be left over; use sizes whose product is 12, or 8 devices"},
		{16, sizes{"tp": 4, "pp": 2}, "tp4 pp2 makes 8 ranks, and there are 16 devices: 8 would be left over; make one of the sizes 2 times as large"},
		{6, sizes{"tp": 4, "pp": 2}, "tp4 pp2 makes 8 ranks, and there are 6 devices: 2 are missing; use sizes whose product is 6, or 8 devices"},
		{2, nil, "1 makes 1 rank, and there are 2 devices: 1 would be left over"},
		{0, sizes{"tp": 4}, "the number of devices is 0: it must be 1 to 1048576"},
		{-8, nil, "the number of devices is -8"},
		{MaxWorldSize + 1, nil, "the number of devices is 1048577"},
		{8, sizes{"tp": 0}, `size of dimension "tp" is 0`},
		{8, sizes{"tp": math.MaxInt, "pp": math.MaxInt}, "more than 1048576 ranks"},
	} {
		m, err := ForWorld(test.world, "tp-pp-dp", test.sizes)
		if test.want != "" {
			wantError(t, err, test.want)
		} else if err != nil || m.WorldSize() != test.world {
			t.Errorf("%d devices as %v: %v", test.world, test.sizes, err)
		}
	}
}
