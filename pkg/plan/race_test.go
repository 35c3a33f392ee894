//go:build race

package plan

// exhaustiveEvery is of how many of the cases that are held to exhaustive search one is taken: the race detector makes each
// ten times slower, and there is nothing concurrent in them.
const exhaustiveEvery = 10
