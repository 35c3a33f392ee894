package plan

import "strconv"

// wording is a text that is written piece by piece. Every plan has some, and fmt would take a good part of the time of a
// small one.
type wording []byte

func (w wording) String() string { return string(w) }

func (w wording) text(s string) wording { return append(w, s...) }

func (w wording) number(n int) wording { return strconv.AppendInt(w, int64(n), 10) }

// counted is a number of things that are called by a noun and an s where they are not one.
func (w wording) counted(n int, noun string) wording {
	w = w.number(n).text(" ").text(noun)
	if n == 1 {
		return w
	}
	return w.text("s")
}

// fixed is a number with so many digits after the point, digits one with so many in all.
func (w wording) fixed(x float64, decimals int) wording {
	return strconv.AppendFloat(w, x, 'f', decimals, 64)
}

func (w wording) digits(x float64, all int) wording { return strconv.AppendFloat(w, x, 'g', all, 64) }
