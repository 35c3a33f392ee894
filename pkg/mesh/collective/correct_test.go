package collective

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func containsText(err error, text string) bool { return strings.Contains(err.Error(), text) }

// The full matrix takes many minutes under the race detector; without the variable a part of it runs that has each value
// of each parameter with each type and operation.
var fullMatrix = os.Getenv("RANKWRIGHT_COLLECTIVE_MATRIX") != ""

// Element counts: nothing, one, fewer than ranks, odd, and enough for rings.
func countsFor(dtype DType, members int) []int {
	switch {
	case fullMatrix && members > 8:
		return []int{0, 1, 3, 257, 20_001}
	case fullMatrix:
		return []int{0, 1, 3, 257, 4096, 400_001 / members}
	case members > 8:
		return []int{1, 257}
	case dtype == FP32 || dtype == BF16 && members < 4:
		return []int{0, 1, 257, 40_001}
	}
	return []int{0, 1, 257}
}

func sizesFor(transport string) []int {
	switch {
	case fullMatrix:
		return []int{1, 2, 3, 4, 5, 7, 8, 16, 33, 64}
	case transport == "tcp":
		return []int{1, 2, 3, 8}
	}
	return []int{1, 2, 3, 5, 8, 64}
}

func TestReductionsMatchTheReference(t *testing.T) {
	for name, make := range transports {
		for _, members := range sizesFor(name) {
			t.Run(fmt.Sprintf("%s/%d", name, members), func(t *testing.T) {
				groups := worldGroups(make(t, members))
				for _, dtype := range DTypes() {
					for _, op := range Ops() {
						for _, count := range countsFor(dtype, members) {
							checkReductions(t, groups, dtype, op, count)
						}
					}
				}
			})
		}
	}
}

// checkReductions does an all-reduce of so many elements, and a reduce-scatter of as many for each rank where that is
// not too much.
func checkReductions(t *testing.T, groups []Group, dtype DType, op Op, count int) {
	t.Helper()
	members := len(groups)
	what := describeCall(op, dtype, count, members)
	inputs := randomBuffers(seeded(int(dtype), int(op), count, members), dtype, op, count, members)
	want := combineSerially(dtype, op, inputs)
	buffers := clone(inputs)
	mustAll(t, "all-reduce "+what, groups, func(ctx context.Context, i int, g Group) error {
		return g.AllReduce(ctx, buffers[i], dtype, op)
	})
	for i, got := range buffers {
		if !bytes.Equal(got, want) {
			t.Fatalf("all-reduce %s: rank %d differs from the reference at byte %d", what, i, firstDifference(got, want))
		}
	}

	each := count / members
	for i := range inputs {
		inputs[i] = inputs[i][:each*members*dtype.Size()]
	}
	before, outputs := clone(inputs), make([][]byte, members)
	mustAll(t, "reduce-scatter "+what, groups, func(ctx context.Context, i int, g Group) error {
		outputs[i] = make([]byte, each*dtype.Size())
		return g.ReduceScatter(ctx, outputs[i], inputs[i], dtype, op)
	})
	if got := slices.Concat(outputs...); !bytes.Equal(got, want[:len(got)]) {
		t.Fatalf("reduce-scatter %s differs from the reference at byte %d", what, firstDifference(got, want))
	}
	for i := range inputs {
		if !bytes.Equal(inputs[i], before[i]) {
			t.Fatalf("reduce-scatter %s changed its input on rank %d", what, i)
		}
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func TestMovesMatchTheReference(t *testing.T) {
	for name, make := range transports {
		for _, members := range sizesFor(name) {
			t.Run(fmt.Sprintf("%s/%d", name, members), func(t *testing.T) {
				groups := worldGroups(make(t, members))
				lengths := []int{0, 1, 255}
				if members <= 8 || fullMatrix {
					lengths = append(lengths, 50_003)
				}
				if members == 3 || fullMatrix {
					lengths = append(lengths, segmentBytes+1)
				}
				for _, length := range lengths {
					if length*members*members > 64<<20 && !fullMatrix {
						continue
					}
					checkMoves(t, groups, length)
				}
			})
		}
	}
}

func checkMoves(t *testing.T, groups []Group, length int) {
	t.Helper()
	members := len(groups)
	what := fmt.Sprintf("of %d bytes on %d ranks", length, members)
	inputs := randomBuffers(seeded(length, members), UINT8, Sum, length, members)

	outputs := blank(members, length*members)
	mustAll(t, "all-gather "+what, groups, func(ctx context.Context, i int, g Group) error {
		return g.AllGather(ctx, outputs[i], inputs[i])
	})
	want := slices.Concat(inputs...)
	for i, got := range outputs {
		if !bytes.Equal(got, want) {
			t.Fatalf("all-gather %s: rank %d is wrong from byte %d", what, i, firstDifference(got, want))
		}
	}

	for _, root := range []int{0, members - 1} {
		buffers := blank(members, length)
		copy(buffers[root], inputs[root])
		mustAll(t, "broadcast "+what, groups, func(ctx context.Context, i int, g Group) error {
			return g.Broadcast(ctx, buffers[i], root)
		})
		for i, got := range buffers {
			if !bytes.Equal(got, inputs[root]) {
				t.Fatalf("broadcast %s from %d: rank %d is wrong from byte %d", what, root, i, firstDifference(got, inputs[root]))
			}
		}
	}

	checkRooted(t, groups, inputs, what)

	// Part j of rank i's input begins with i and j.
	all, exchanged := blank(members, length*members), blank(members, length*members)
	part := func(i, j int) []byte {
		p := slices.Clone(inputs[i])
		for at, b := range []byte{byte(i), byte(j)} {
			if at < len(p) {
				p[at] = b
			}
		}
		return p
	}
	for i := range members {
		for j := range members {
			copy(all[i][j*length:], part(i, j))
		}
	}
	mustAll(t, "all-to-all "+what, groups, func(ctx context.Context, i int, g Group) error {
		return g.AllToAll(ctx, exchanged[i], all[i])
	})
	for i := range members {
		for j := range members {
			if got := exchanged[i][j*length : (j+1)*length]; !bytes.Equal(got, part(j, i)) {
				t.Fatalf("all-to-all %s: rank %d has wrong bytes of rank %d", what, i, j)
			}
		}
	}

	// Everybody sends to the next one and receives from the one before.
	received := blank(members, length)
	if members == 1 {
		return
	}
	mustAll(t, "send and receive "+what, groups, func(ctx context.Context, i int, g Group) error {
		return both(func() error { return g.Send(ctx, inputs[i], (i+1)%members) },
			func() error { return g.Receive(ctx, received[i], (i+members-1)%members) })
	})
	for i := range members {
		if !bytes.Equal(received[i], inputs[(i+members-1)%members]) {
			t.Fatalf("send and receive %s: rank %d has wrong bytes", what, i)
		}
	}
}

// checkRooted gathers the inputs at a root, and scatters them from there.
func checkRooted(t *testing.T, groups []Group, inputs [][]byte, what string) {
	t.Helper()
	members, length := len(groups), len(inputs[0])
	for _, root := range []int{0, members / 2, members - 1} {
		gathered := make([]byte, members*length)
		untouched := blank(members, 1)
		mustAll(t, "gather "+what, groups, func(ctx context.Context, i int, g Group) error {
			output := untouched[i]
			if i == root {
				output = gathered
			}
			return g.Gather(ctx, output, inputs[i], root)
		})
		if want := slices.Concat(inputs...); !bytes.Equal(gathered, want) {
			t.Fatalf("gather %s at %d is wrong from byte %d", what, root, firstDifference(gathered, want))
		}
		if !bytes.Equal(slices.Concat(untouched...), make([]byte, members)) {
			t.Fatalf("gather %s at %d wrote to others", what, root)
		}
		scattered := blank(members, length)
		mustAll(t, "scatter "+what, groups, func(ctx context.Context, i int, g Group) error {
			var input []byte
			if i == root {
				input = gathered
			}
			return g.Scatter(ctx, scattered[i], input, root)
		})
		for i, got := range scattered {
			if !bytes.Equal(got, inputs[i]) {
				t.Fatalf("scatter %s from %d: rank %d is wrong from byte %d", what, root, i, firstDifference(got, inputs[i]))
			}
		}
	}
}

func blank(number, length int) [][]byte {
	buffers := make([][]byte, number)
	for i := range buffers {
		buffers[i] = make([]byte, length)
	}
	return buffers
}
