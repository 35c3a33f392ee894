package memory_test

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/memory"
)

// TestAppleLendsThreeQuarters of the memory that its GPUs share with the processor.
func TestAppleLendsThreeQuarters(t *testing.T) {
	const total = 64 << 30
	offer := func(vendor string) int64 {
		return memory.Offer(v1alpha1.EngineTorch, false, 0, memory.Device{Vendor: vendor, TotalBytes: total})
	}
	if apple, other := offer("apple"), offer("amd"); apple > total*3/4 || apple < total*3/4-(1<<30) || other <= apple {
		t.Errorf("apple offers %d and amd %d of %d", apple, other, int64(total))
	}
}
