package model

import (
	"math/big"
	"regexp"
	"strings"
)

// writtenNumber is a bare number of parameters as people write it: 70B, 1.5b, 125M, 1T, 70000000000.
var writtenNumber = regexp.MustCompile(`^(\d{1,15}(?:\.\d{1,9})?)([MBTmbt]?)$`)

// thousands are the powers of ten of the letters that stand for millions, billions and trillions.
var thousands = map[string]int64{"": 1, "m": 1_000_000, "b": 1_000_000_000, "t": 1_000_000_000_000}

// ParseParameters reads a number of parameters where a model is named by it: `70B`, `1.5B`, `125M`, `70000000000`. It returns
// false for every other name, and for what is no whole number. FromParameters makes a model of it, or says that it is out of range.
func ParseParameters(text string) (int64, bool) {
	parts := writtenNumber.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	n, ok := new(big.Rat).SetString(parts[1])
	if !ok {
		return 0, false
	}
	n.Mul(n, new(big.Rat).SetInt64(thousands[strings.ToLower(parts[2])]))
	if !n.IsInt() || !n.Num().IsInt64() {
		return 0, false
	}
	return n.Num().Int64(), true
}
