package term

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/rankwright/rankwright/internal/words"
)

// Grouped prints a number with commas: 70,553,706,496.
func Grouped[N int | int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// InBoth prints bytes for people and exactly.
func InBoth(bytes int64) string {
	return fmt.Sprintf("%s (%s bytes)", words.HumanBytes(bytes), Grouped(bytes))
}

// Billions prints a number of parameters with one decimal.
func Billions(n int64) string { return fmt.Sprintf("%.1fB", float64(n)/1e9) }

// InUnits formats a quantity with the largest unit of a thousand that is not above it, to three digits: 2.88 TB/s.
func InUnits(v float64, unit string) string {
	for _, prefix := range []struct {
		name  string
		value float64
	}{{"P", 1e15}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
		if v >= prefix.value*0.9995 {
			return Three(v/prefix.value) + " " + prefix.name + unit
		}
	}
	return Three(v) + " " + unit
}

// Duration formats seconds in the unit that reads best, to three digits.
func Duration(seconds float64) string {
	switch {
	case seconds >= 0.9995:
		return Three(seconds) + " s"
	case seconds >= 0.9995e-3:
		return Three(seconds*1e3) + " ms"
	case seconds == 0:
		return "0 ms"
	default:
		return Three(seconds*1e6) + " µs"
	}
}

// Durations formats an estimate in seconds with its range, each in the unit that reads best, to the digits that the range leaves.
func Durations(value, low, high float64) string {
	digits := words.Digits(low, high)
	return fmt.Sprintf("%s (%s to %s)", duration(value, digits), duration(low, digits), duration(high, digits))
}

func duration(seconds float64, digits int) string {
	return Duration(words.Round(seconds, digits))
}

// Expected formats an estimate with its range in a unit, all to the digits that the range leaves; without a range where the high end is 0.
func Expected(value, low, high float64, unit string) string {
	digits := words.Digits(low, high)
	text := words.Figure(value, digits) + " " + unit
	if high > 0 {
		text += fmt.Sprintf(" (%s to %s)", words.Figure(low, digits), words.Figure(high, digits))
	}
	return text
}

// Here formats an estimate that the measurements of a site moved, with what it was without them, and half its range in percent, or the range where
// it is wide. One that they did not move is formatted as any other.
func Here(without, value, low, high float64, unit string) string {
	half, digits := 50*(high-low)/value, words.Digits(low, high)
	was := fmt.Sprintf("estimated %s %s, here ", words.Figure(without, digits), unit)
	switch {
	case math.Abs(without/value-1) < unmoved:
		return Expected(value, low, high, unit)
	case half > narrow:
		return was + Expected(value, low, high, unit)
	default:
		return was + fmt.Sprintf("%s ± %.0f %%", words.Figure(value, digits), half)
	}
}

// unmoved is the share up to which an estimate counts as not moved, narrow the percents of half a range up to which its ends lie nearly as far from the
// estimate.
const unmoved, narrow = 1e-3, 35

// Three formats a number in three digits or, above a thousand, to the unit.
func Three(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Milliseconds prints a time in milliseconds whatever its size, so that the times of a column compare.
func Milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond))
}
