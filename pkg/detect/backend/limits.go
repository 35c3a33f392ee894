package backend

// Limits of the API (markers of api/v1alpha1) that backends keep to while they read.
const (
	MaxDevices   = 1024
	MaxPairs     = 4096
	MaxPaths     = 32
	MaxMessage   = 1024
	MaxNUMANodes = 256
)

// MaxMemoryMiB is 16 TiB: more than any device has, so that anything above it is a misread number.
const MaxMemoryMiB = 16 << 20

// InRange is the size where a card can have it, else 0.
func InRange(bytes int64) int64 {
	if bytes < 0 || bytes>>20 > MaxMemoryMiB {
		return 0
	}
	return bytes
}

// Natural is the number; nil where it is negative, which stands for one that is not known.
func Natural(n *int32) *int32 {
	if n != nil && *n < 0 {
		return nil
	}
	return n
}
