package collective

import "math/bits"

// startBytes is what a connection moves in the time that a message needs to start: some 30 microseconds at 1 GB/s. It only
// decides which algorithm is used, which must be the same on all ranks; results are right with any.
const startBytes = 30e3

// The costs are in bytes: startBytes for each message that waits for another, and the bytes that are sent after each
// other. See the package's documentation for the formulas and their source.

func depth(members int) float64 { return float64(bits.Len(uint(members - 1))) }

// treeReduces says whether all-reduce and reduce-scatter of so many bytes are cheaper by trees than by a ring.
func treeReduces(members, bytes int) bool {
	steps := float64(members - 1)
	tree := 2 * depth(members) * (startBytes + float64(bytes))
	ring := 2*steps*startBytes + 2*steps/float64(members)*float64(bytes)
	return tree <= ring
}

// treeGathers says whether all-gather of so many bytes from each member is cheaper by a tree than by a ring.
func treeGathers(members, bytes int) bool {
	steps, n := float64(members-1), float64(bytes)
	tree := depth(members)*startBytes + steps*n + depth(members)*(startBytes+float64(members)*n)
	ring := steps * (startBytes + n)
	return tree <= ring
}

// treeBroadcasts says whether broadcast of so many bytes is cheaper by a tree than by a chain of segments.
func treeBroadcasts(members, bytes int) bool {
	tree := depth(members) * (startBytes + float64(bytes))
	pieces := float64((bytes + segmentBytes - 1) / segmentBytes)
	chain := (float64(members-2) + pieces) * (startBytes + float64(min(bytes, segmentBytes)))
	return tree <= chain
}
