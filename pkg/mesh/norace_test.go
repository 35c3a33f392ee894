//go:build !race

package mesh

// shapesDrawn is how many random shapes are looked at.
const shapesDrawn = 100_000
