package term

import (
	"fmt"
	"io"
	"strconv"

	"github.com/rankwright/rankwright/internal/words"
)

// Grouped prints a number with commas: 70,553,706,496.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
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

// Sheet prints names and values one below the other.
func Sheet(w io.Writer, rows [][2]string) error {
	width := 0
	for _, row := range rows {
		width = max(width, len(row[0])+1)
	}
	for _, row := range rows {
		value := row[1]
		if value == "" {
			value = "-"
		}
		if _, err := fmt.Fprintf(w, "%-*s   %s\n", width, row[0]+":", value); err != nil {
			return err
		}
	}
	return nil
}
