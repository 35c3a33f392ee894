//go:build !race

package plan

// exhaustiveEvery is of how many of the cases that are held to exhaustive search one is taken.
const exhaustiveEvery = 1
