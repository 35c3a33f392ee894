package traffic

import "time"

// MBps returns a rate in units of 10^6 bytes a second, at least 1.
func MBps(bytes float64, took time.Duration) int64 {
	const mega = 1e6
	return max(1, int64(bytes/max(took.Seconds(), 1e-9)/mega))
}

// BusMBps returns the bus bandwidth of an all-reduce in MB/s, which is bytes by time, times 2(n-1)/n (nccl-tests, doc/PERFORMANCE.md).
func BusMBps(bytes, members int, took time.Duration) int64 {
	n := float64(members)
	return MBps(float64(bytes)*2*(n-1)/n, took)
}
