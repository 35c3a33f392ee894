package plan

import "strconv"

// wording is a text that is built piece by piece. Every plan has some, and fmt would take a good part of the time of a
// small plan.
type wording []byte

func (w wording) String() string { return string(w) }

func (w wording) text(s string) wording { return append(w, s...) }

func (w wording) number(n int) wording { return strconv.AppendInt(w, int64(n), 10) }

// counted appends a number and a noun, with an s unless the number is 1.
func (w wording) counted(n int, noun string) wording {
	w = w.number(n).text(" ").text(noun)
	if n == 1 {
		return w
	}
	return w.text("s")
}

// fixed appends a number with decimals digits after the point, digits a number with so many significant digits.
func (w wording) fixed(x float64, decimals int) wording {
	return strconv.AppendFloat(w, x, 'f', decimals, 64)
}

func (w wording) digits(x float64, all int) wording { return strconv.AppendFloat(w, x, 'g', all, 64) }
