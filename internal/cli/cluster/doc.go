// Package cluster finds a cluster as kubectl does, reads from it what the commands need, once and by kind, and follows it. What the user may not see is
// noted by kind.
package cluster
