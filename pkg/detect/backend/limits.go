package backend

import (
	"strconv"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

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

// InRange returns a memory size in bytes if a card can have it, else 0.
func InRange(bytes int64) int64 {
	if bytes < 0 || bytes>>20 > MaxMemoryMiB {
		return 0
	}
	return bytes
}

// Natural returns the number; nil where it is negative, which means that it is not known.
func Natural(n *int32) *int32 {
	if n != nil && *n < 0 {
		return nil
	}
	return n
}

// Bounds of readings: what is above them is a misread number.
const (
	MaxCelsius    = 200
	MaxMilliWatts = 100_000_000
)

// Thousandths returns the value in thousandths; nil where it is nil, negative or above the bound.
func Thousandths(value *int64, bound int64) *int64 {
	if value = AtMost(value, bound); value == nil {
		return nil
	}
	return new(*value * 1000)
}

// AtMost returns the value; nil where it is nil, negative or above the bound.
func AtMost(value *int64, bound int64) *int64 {
	if value == nil || *value < 0 || *value > bound {
		return nil
	}
	return new(*value)
}

// Percent returns the value; nil where it is not between 0 and 100.
func Percent(value int64) *int64 {
	return AtMost(&value, 100)
}

// ParseNumber reads a decimal number times a scale, rounded down; nil where the text is none, or the result negative or above the bound.
func ParseNumber(text string, scale float64, bound int64) *int64 {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || !(number >= 0 && number*scale <= float64(bound)) {
		return nil
	}
	const tiny = 1e-6 // 68.92 times 1000 is a little less than 68920 in binary
	return new(int64(number*scale + tiny))
}

// ReadNumber reads the decimal number in a file; nil where there is none or it is outside the bounds.
func ReadNumber(files host.Files, name string, lowest, highest int64) *int64 {
	if number, ok := host.ReadBetween(files, name, lowest, highest); ok {
		return &number
	}
	return nil
}
