package collective

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

func TestLargeBuffers(t *testing.T) {
	const size = 64 << 20
	for name, make := range transports {
		t.Run(name, func(t *testing.T) {
			groups := worldGroups(make(t, 2))
			buffers := blank(2, size)
			for rank, b := range buffers {
				for i := 0; i < len(b); i += 4096 {
					binary.NativeEndian.PutUint32(b[i:], math.Float32bits(float32(rank+i/4096)))
				}
			}
			mustAll(t, fmt.Sprintf("%d bytes", size), groups, func(ctx context.Context, i int, g Group) error {
				return g.AllReduce(ctx, buffers[i], FP32, Sum)
			})
			for i := 0; i < size; i += 4096 {
				if got := decodeFloat(FP32, buffers[0][i:]); got != float64(2*(i/4096)+1) {
					t.Fatalf("element at byte %d is %v", i, got)
				}
			}
			if !bytes.Equal(buffers[0], buffers[1]) {
				t.Error("the ranks differ")
			}
		})
	}
}

// The formulas choose trees where messages count and rings where bytes do.
func TestAlgorithmsBySize(t *testing.T) {
	for _, members := range []int{16, 64, 1000} {
		for name, tree := range map[string]func(members, bytes int) bool{
			"reduce": treeReduces, "gather": treeGathers, "broadcast": treeBroadcasts,
		} {
			if !tree(members, 8) {
				t.Errorf("%s of 8 bytes on %d ranks takes no tree", name, members)
			}
			if tree(members, 1<<30) {
				t.Errorf("%s of 1 GiB on %d ranks takes a tree", name, members)
			}
		}
	}
	if treeReduces(2, 4) {
		t.Error("two ranks exchange halves in a ring, which is never dearer")
	}
}
