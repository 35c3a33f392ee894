// Package search looks for the best shape that can be placed, in the order of the objective, and says whether there is any.
// It remembers what was too large or too slow.
package search
