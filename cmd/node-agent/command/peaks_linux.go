package command

import "golang.org/x/sys/unix"

// peaks are the most memory that this process, and the largest of those that it ran, had resident, in KiB (getrusage(2)).
func peaks() (own, tool int64) {
	var self, children unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &self) // fails only for a wrong argument
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &children)
	return self.Maxrss, children.Maxrss
}
