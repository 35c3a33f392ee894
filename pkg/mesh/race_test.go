//go:build race

package mesh

// shapesDrawn is how many random shapes are looked at: the race detector makes each many times as slow.
const shapesDrawn = 2_000
