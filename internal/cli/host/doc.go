// Package host is the command detect: the accelerators of this host or of a recorded one, selected, watched and printed.
package host
