package plan_test

import "testing"

// BenchmarkBaseline is a million dependent steps of arithmetic and memory, which nothing of the planner changes: other
// benchmarks of the same run are compared with it.
func BenchmarkBaseline(b *testing.B) {
	table := make([]uint32, 1<<16)
	for i := range table {
		table[i] = uint32(i)*2654435761 + 1
	}
	sum := uint32(0)
	for b.Loop() {
		for range 1_000_000 {
			sum = sum*1664525 + table[sum>>16]
		}
	}
	if sum == 1 {
		b.Log(sum) // keeps the loop
	}
}
