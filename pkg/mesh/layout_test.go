package mesh

import (
	"fmt"
	"math"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// seatsOn are devices of NVIDIA, some on each node.
func seatsOn(perNode int, nodes ...string) []Seat {
	var seats []Seat
	for _, node := range nodes {
		for i := range perNode {
			seats = append(seats, Seat{
				Node: node, Device: ids("nvidia", i)[0], Hardware: Hardware{"nvidia", v1alpha1.FamilyGPU, "nvidia"}, MemoryMiB: 1024, GFLOPS: 1000,
			})
		}
	}
	return seats
}

// laid is a layout that must be possible.
func laid(t testing.TB, order string, sizes map[string]int, seats []Seat) *Layout {
	t.Helper()
	l, err := NewLayout(made(t, order, sizes), seats)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Defects: devices that the degrees do not cover lay idle, and degrees of zero were accepted or divided by.
func TestNoDeviceLiesIdle(t *testing.T) {
	_, err := NewLayout(made(t, "tp", sizes{"tp": 2}), seatsOn(3, "a"))
	wantError(t, err, "tp2 makes 2 ranks, and there are 3 devices: 1 would be left over")
	_, err = NewLayout(made(t, "tp", sizes{"tp": 4}), seatsOn(3, "a"))
	wantError(t, err, "tp4 makes 4 ranks, and there are 3 devices: 1 are missing")
	_, err = NewLayout(made(t, "tp", sizes{"tp": 4}), nil)
	wantError(t, err, "and there are 0 devices: 4 are missing")
	for _, degree := range []string{"tp", "pp", "dp"} {
		_, err := New("tp-pp-dp", sizes{degree: 0})
		wantError(t, err, fmt.Sprintf("size of dimension %q is 0: it must be at least 1", degree))
	}
}

// Defect: products of degrees were not checked for overflow.
func TestProductsDoNotWrap(t *testing.T) {
	for _, s := range []sizes{{"tp": math.MaxInt, "pp": 2}, {"tp": 1 << 32, "pp": 1 << 32}, {"tp": 1 << 62, "pp": 4, "dp": 4}} {
		_, err := New("tp-pp-dp", s)
		wantError(t, err, "has more than 1048576 ranks")
	}
}

// Defect: a device could have several ranks, or no name.
func TestSeatsAreChecked(t *testing.T) {
	m := made(t, "tp", sizes{"tp": 2})
	twice := seatsOn(1, "a", "a")
	_, err := NewLayout(m, twice)
	wantError(t, err, "device nvidia-0000:00:00.0 on a has the ranks 0 and 1")
	nameless := seatsOn(2, "a")
	nameless[1].Node = ""
	_, err = NewLayout(m, nameless)
	wantError(t, err, `seats[1] is device "nvidia-0000:01:00.0" on node ""`)
}

// Defect: the number of a rank in the world was used as the number of a device on its node.
func TestLocalRanksCountByNode(t *testing.T) {
	seats := seatsOn(3, "a", "b")
	seats[1], seats[4] = seats[4], seats[1]
	l := laid(t, "tp", sizes{"tp": 6}, seats)
	var got string
	for rank := range 6 {
		local, of, err := l.LocalRank(rank)
		if err != nil || of != 3 {
			t.Fatalf("rank %d: of %d, %v", rank, of, err)
		}
		got += fmt.Sprint(l.seats[rank].Node, local, " ")
	}
	if want := "a0 b0 a1 b1 a2 b2 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
