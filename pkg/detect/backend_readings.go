package detect

// Bounds of readings: what is above them is a misread number.
const (
	maxCelsius    = 200
	maxMilliWatts = 100_000_000
)

// thousandths is the value in thousandths; nil where it is nil, negative or above the bound.
func thousandths(value *int64, bound int64) *int64 {
	if value = atMost(value, bound); value == nil {
		return nil
	}
	scaled := *value * 1000
	return &scaled
}

// atMost is the value; nil where it is nil, negative or above the bound.
func atMost(value *int64, bound int64) *int64 {
	if value == nil || *value < 0 || *value > bound {
		return nil
	}
	bounded := *value
	return &bounded
}

// percent is a share in percent; nil where the number is none.
func percent(value int64) *int64 {
	if value < 0 || value > 100 {
		return nil
	}
	return &value
}
