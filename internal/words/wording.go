package words

import "strconv"

// Wording is a text that is built piece by piece. Every plan has some, and fmt would take a good part of the time of a
// small plan.
type Wording []byte

func (w Wording) String() string { return string(w) }

// Text appends a text.
func (w Wording) Text(s string) Wording { return append(w, s...) }

// Number appends a number.
func (w Wording) Number(n int) Wording { return strconv.AppendInt(w, int64(n), 10) }

// Counted appends a number and a noun, with an s unless the number is 1.
func (w Wording) Counted(n int, noun string) Wording {
	w = w.Number(n).Text(" ").Text(noun)
	if n == 1 {
		return w
	}
	return w.Text("s")
}

// Fixed appends a number with so many digits after the point.
func (w Wording) Fixed(x float64, decimals int) Wording {
	return strconv.AppendFloat(w, x, 'f', decimals, 64)
}

// Digits appends a number with so many significant digits.
func (w Wording) Digits(x float64, all int) Wording { return strconv.AppendFloat(w, x, 'g', all, 64) }
