package pipeline

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

// numbers reads floating point numbers from bytes, whatever they are.
type numbers []byte

func (n *numbers) next() float64 {
	if len(*n) < 8 {
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(*n))
	*n = (*n)[8:]
	return v
}

func (n *numbers) row(length int) []float64 {
	row := make([]float64, length)
	for i := range row {
		row[i] = n.next()
	}
	return row
}

func packed(values ...float64) []byte {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
	}
	return raw
}

// FuzzSplit holds Split to an error of a known kind or a division that adds up, on any numbers.
func FuzzSplit(f *testing.F) {
	f.Add(3, 2, 1, 0, true, packed(1, 2, 3, 4, 5, 6, 7))
	f.Add(3, 2, 1, 1, true, packed(1, math.Inf(1), 1e12, 5e-324, math.Inf(1)))
	f.Add(1, -1, 0, -1, false, packed(math.NaN()))
	f.Add(math.MinInt, math.MaxInt, math.MaxInt, math.MaxInt, true, packed(-1))
	f.Fuzz(func(t *testing.T, layers, first, second, stages int, linked bool, raw []byte) {
		n := numbers(raw)
		table := n.row(32)
		c := Chain{Layers: layers % 12, Devices: []int{first, second}, MaxStages: stages}
		c.Seconds = func(class, start, end int) float64 { return table[(class*7+start*5+end*3)%len(table)] }
		if linked {
			c.Handover = [][]float64{n.row(2), n.row(2)}
		}
		d, err := Split(c)
		switch {
		case err == nil:
			checkStages(t, &c, d)
		case !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrNoFit) && !errors.Is(err, ErrTooLarge):
			t.Fatalf("an error of no kind: %v", err)
		}
	})
}
