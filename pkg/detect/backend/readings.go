package backend

// Bounds of readings: what is above them is a misread number.
const (
	MaxCelsius    = 200
	MaxMilliWatts = 100_000_000
)

// Thousandths is the value in thousandths; nil where it is nil, negative or above the bound.
func Thousandths(value *int64, bound int64) *int64 {
	if value = AtMost(value, bound); value == nil {
		return nil
	}
	scaled := *value * 1000
	return &scaled
}

// AtMost is the value; nil where it is nil, negative or above the bound.
func AtMost(value *int64, bound int64) *int64 {
	if value == nil || *value < 0 || *value > bound {
		return nil
	}
	bounded := *value
	return &bounded
}

// Percent is a share in percent; nil where the number is none.
func Percent(value int64) *int64 {
	if value < 0 || value > 100 {
		return nil
	}
	return &value
}
