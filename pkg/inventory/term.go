package inventory

import (
	"cmp"
	"fmt"
	"regexp"
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
	parts := termPattern.FindStringSubmatchIndex(text)
	part := func(n int) (string, int) { return text[parts[2*n]:parts[2*n+1]], offset + parts[2*n] }
	field, fieldAt := part(1)
	operator, operatorAt := part(2)
	value, valueAt := part(3)
	if operator == "=" {
		operator = string(Equal)
	}
	switch {
	case field == "":
		return Term{}, fmt.Errorf("position %d: no field: write a field, an operator and a value, such as memory>=80GB", fieldAt+1)
	case operator == "":
		return Term{}, fmt.Errorf("position %d: no operator after %q: write one of > >= < <= == !=", operatorAt+1, field)
	case value == "":
		return Term{}, fmt.Errorf("position %d: no value after %s%s: write one", valueAt+1, field, operator)
	}
	return Term{Field: field, Operator: Operator(operator), Value: value, offset: fieldAt, operatorAt: operatorAt, valueAt: valueAt}, nil
}

// termPattern matches every text; what a term lacks is empty.
var termPattern = regexp.MustCompile(`(?s)^[ \t]*([0-9A-Za-z]*)[ \t]*(>=|<=|==|!=|=|>|<|~|)[ \t]*(.*?)[ \t]*$`)

const blanks = " \t"

func leadingBlanks(text string) int { return len(text) - len(strings.TrimLeft(text, blanks)) }

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

// badValue returns an error at the term's value.
func (t Term) badValue(remedy string) error {
	return fmt.Errorf("position %d: value %q of %s: %s", t.valueAt+1, t.Value, t.Field, remedy)
}

// maxQuantity keeps every number exact in a float64.
const maxQuantity = 1 << 53

// Quantity reads the value as a decimal number with one of the units, each given by what it is worth; the empty unit is
// for a number without one. It returns the number in the units' common measure, and the unit as it is in the map.
func (t Term) Quantity(units map[string]float64) (value float64, unit string, err error) {
	rest := strings.TrimLeft(t.Value, ".0123456789")
	suffix := strings.TrimLeft(rest, blanks)
	remedy := "write a decimal number with " + unitList(units)
	number, err := strconv.ParseFloat(strings.TrimSuffix(t.Value, rest), 64)
	if err != nil {
		return 0, "", t.badValue(remedy)
	}
	for name, worth := range units {
		if !strings.EqualFold(name, suffix) {
			continue
		}
		if number*worth > maxQuantity {
			return 0, "", t.badValue("write a smaller number")
		}
		return number * worth, name, nil
	}
	return 0, "", t.badValue(remedy)
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
