package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Operator is a comparison in a term.
type Operator string

// The operators. A single = means the same as two, as in label selectors.
const (
	AtLeast     Operator = ">="
	AtMost      Operator = "<="
	Equal       Operator = "=="
	NotEqual    Operator = "!="
	Above       Operator = ">"
	Below       Operator = "<"
	ContainsOne Operator = "~"
)

// written are the operators as they are written; an operator comes before those that it begins with.
var written = []struct {
	text     string
	operator Operator
}{
	{">=", AtLeast},
	{"<=", AtMost},
	{"==", Equal},
	{"!=", NotEqual},
	{"=", Equal},
	{">", Above},
	{"<", Below},
	{"~", ContainsOne},
}

// holdsFor are the orders of a value and the term's value for which an operator holds: -1 below, 0 at, 1 above it.
var holdsFor = map[Operator][]int{AtLeast: {0, 1}, AtMost: {-1, 0}, Equal: {0}, NotEqual: {-1, 1}, Above: {1}, Below: {-1}}

// Holds says whether the operator holds for numbers whose comparison gave an order below, at or above 0.
func (o Operator) Holds(order int) bool { return slices.Contains(holdsFor[o], cmp.Compare(order, 0)) }

// Term is a comparison as people write it: a field, an operator and a value (`memory>=80GB`).
type Term struct {
	Field    string
	Operator Operator
	Value    string
	// offset is the byte at which the term begins in the text, operatorAt and valueAt where its operator and value begin.
	offset, operatorAt, valueAt int
}

// maxTerm is longer than any term that makes sense.
const maxTerm = 512

// ParseTerm reads a comparison. Errors count positions in bytes from 1.
func ParseTerm(text string) (Term, error) { return parseTerm(text, 0) }

func parseTerm(text string, offset int) (Term, error) {
	if len(text) > maxTerm {
		return Term{}, fmt.Errorf("position %d: a term of %d bytes: write at most %d", offset+1, len(text), maxTerm)
	}
	start := leadingBlanks(text)
	end := start
	for end < len(text) && isWord(text[end]) {
		end++
	}
	if end == start {
		return Term{}, fmt.Errorf("position %d: no field: write a field, an operator and a value, such as memory>=80GB", offset+start+1)
	}
	t := Term{Field: text[start:end], offset: offset + start}
	at := end + leadingBlanks(text[end:])
	for _, w := range written {
		if strings.HasPrefix(text[at:], w.text) {
			t.Operator, t.operatorAt = w.operator, offset+at
			at += len(w.text)
			break
		}
	}
	if t.Operator == "" {
		return Term{}, fmt.Errorf("position %d: no operator after %q: write one of > >= < <= == !=", offset+at+1, t.Field)
	}
	at += leadingBlanks(text[at:])
	t.Value, t.valueAt = strings.TrimRight(text[at:], blanks), offset+at
	if t.Value == "" {
		return Term{}, fmt.Errorf("position %d: no value after %s%s: write one", offset+at+1, t.Field, t.Operator)
	}
	return t, nil
}

const blanks = " \t"

func leadingBlanks(text string) int { return len(text) - len(strings.TrimLeft(text, blanks)) }

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// String returns the term as it would be written.
func (t Term) String() string { return t.Field + string(t.Operator) + t.Value }

// BadField returns an error at the term's field.
func (t Term) BadField(remedy string) error {
	return fmt.Errorf("position %d: unknown field %q: %s", t.offset+1, t.Field, remedy)
}

// BadOperator returns an error at the term's operator.
func (t Term) BadOperator(remedy string) error {
	return fmt.Errorf("position %d: operator %s does not go with %s: %s", t.operatorAt+1, t.Operator, t.Field, remedy)
}

// BadValue returns an error at the term's value.
func (t Term) BadValue(remedy string) error {
	return fmt.Errorf("position %d: value %q of %s: %s", t.valueAt+1, t.Value, t.Field, remedy)
}

// maxQuantity keeps every number exact in a float64.
const maxQuantity = 1 << 53

// Quantity reads the value as a decimal number with one of the units, each given by what it is worth; the empty unit is
// for a number without one. It returns the number in the units' common measure, and the unit as it is in the map.
func (t Term) Quantity(units map[string]float64) (value float64, unit string, err error) {
	digits := 0
	for digits < len(t.Value) && (t.Value[digits] == '.' || '0' <= t.Value[digits] && t.Value[digits] <= '9') {
		digits++
	}
	suffix := strings.TrimLeft(t.Value[digits:], blanks)
	remedy := "write a decimal number with " + unitList(units)
	number, err := strconv.ParseFloat(t.Value[:digits], 64)
	if err != nil {
		return 0, "", t.BadValue(remedy)
	}
	for name, worth := range units {
		if !strings.EqualFold(name, suffix) {
			continue
		}
		if number*worth > maxQuantity {
			return 0, "", t.BadValue("write a smaller number")
		}
		return number * worth, name, nil
	}
	return 0, "", t.BadValue(remedy)
}

// unitList lists the units, the smallest first.
func unitList(units map[string]float64) string {
	names := make([]string, 0, len(units))
	for name := range units {
		if name != "" {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(units[a], units[b]), cmp.Compare(a, b))
	})
	_, bare := units[""]
	switch {
	case len(names) == 0:
		return "no unit"
	case bare:
		return "no unit or with " + strings.Join(names, ", ")
	default:
		return "a unit of " + strings.Join(names, ", ")
	}
}
