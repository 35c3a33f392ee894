//go:build !race

package calibration_test

// raced says that the race detector is on.
const raced = false
