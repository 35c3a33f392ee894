package paths

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

// FuzzOptimize holds Optimize to an error or a bracket that a replay confirms, on any numbers.
func FuzzOptimize(f *testing.F) {
	f.Add(4, uint8(3), uint8(2), true, packed(4, 8, 5, 10, 4, 1, 1, math.Inf(1)))
	f.Add(2, uint8(2), uint8(2), false, packed(math.NaN(), -1, math.MaxFloat64, 5e-324))
	f.Add(math.MaxInt, uint8(1), uint8(1), false, packed(1))
	f.Add(1, uint8(2), uint8(1), true, packed(1e15, 1e-300, math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)))
	f.Fuzz(func(t *testing.T, layers int, devices, spans uint8, linked bool, raw []byte) {
		n := numbers(raw)
		fleet := Fleet{Layers: layers}
		for range devices % 6 {
			fleet.Devices = append(fleet.Devices, Device{Rates: n.row(int(spans % 8))})
		}
		if linked {
			fleet.Links = &Links{In: n.row(int(devices % 6)), Out: n.row(int(devices % 6))}
			for range devices % 6 {
				fleet.Links.Between = append(fleet.Links.Between, n.row(int(devices%6)))
			}
		}
		o, err := Optimize(fleet, 2000)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		rate, _, err := fleet.Throughput(o.Spans)
		if err != nil || rate != o.Rate || !(o.Bound >= o.Rate) || !(o.Gap() >= 0) {
			t.Fatalf("%+v, replayed %v, %v", o, rate, err)
		}
	})
}
