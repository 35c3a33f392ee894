package detect

// Limits of the API (markers of api/v1alpha1) that backends keep to while they read.
const (
	maxDevices = 1024
	maxPairs   = 4096
	maxPaths   = 32
	maxMessage = 1024
)

// maxMemoryMiB is 16 TiB: more than any device has, so that anything above it is a misread number.
const maxMemoryMiB = 16 << 20

// inRange is the size where a card can have it, else 0.
func inRange(bytes int64) int64 {
	if bytes < 0 || bytes>>20 > maxMemoryMiB {
		return 0
	}
	return bytes
}
