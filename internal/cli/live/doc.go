// Package live has the commands that look at a cluster and act on it.
package live
