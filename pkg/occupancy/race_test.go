//go:build race

package occupancy_test

// raced says that the race detector is on.
const raced = true
