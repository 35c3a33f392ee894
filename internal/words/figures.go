package words

import "strconv"

const (
	// coarse is how far apart the ends of a range are from which on a third digit of what lies between would say nothing: 20 % to each side.
	coarse = 1.2 * 1.2 * 0.9999
	few    = 2
	usual  = 3
)

// Digits returns the significant digits that an estimate deserves by its range: two from 20 % to each side on, else three. Without a range it
// is three.
func Digits(low, high float64) int {
	if low > 0 && high >= coarse*low {
		return few
	}
	return usual
}

// Round rounds to significant digits.
func Round(v float64, digits int) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64) // a number that was just written
	return rounded
}

// Figure writes a number in significant digits, without an exponent: 1800.
func Figure(v float64, digits int) string { return strconv.FormatFloat(Round(v, digits), 'f', -1, 64) }
