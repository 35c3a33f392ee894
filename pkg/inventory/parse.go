package inventory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// ParseSelector reads a selector: terms divided by commas, all of which must hold, as in a label selector.
//
//	vendor=nvidia,memory>=80GB
//	product~h100,computeCapability>=9.0
//	health!=Healthy
//
// Texts are compared in any case by =, != and ~ (contains), where cuda and rocm name their vendors and backends, and a * or ? in them stands for any text or letter. Numbers
// have their units; what a device does not say meets no term about numbers, not even one with !=.
func ParseSelector(text string) (Selector, error) {
	selectors, err := readParts(text, ",", func(part string, offset int) (Selector, error) {
		term, err := parseTerm(part, offset)
		if err != nil {
			return nil, err
		}
		return term.selector()
	})
	if err != nil {
		return nil, err
	}
	return All(selectors...), nil
}

// readParts reads the parts of a text, each from the byte at which it begins, up to the first that cannot be read.
func readParts[T any](text, separator string, read func(part string, offset int) (T, error)) ([]T, error) {
	var all []T
	offset := 0
	for part := range strings.SplitSeq(text, separator) {
		one, err := read(part, offset)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		offset += len(part) + len(separator)
	}
	return all, nil
}

func (t Term) selector() (Selector, error) {
	f, err := fieldOf(t)
	switch {
	case err != nil:
		return nil, err
	case f.texts != nil:
		return t.textSelector(f)
	case f.version != nil:
		return t.versionSelector(f)
	default:
		return t.numberSelector(f)
	}
}

func (t Term) textSelector(f field) (Selector, error) {
	wanted := t.Value
	if f.means != nil {
		wanted = f.means(wanted)
	}
	is := equals(wanted)
	switch t.Operator {
	case Equal, NotEqual:
	case ContainsOne:
		is = contains(wanted)
	default:
		return nil, t.BadOperator("a text is compared by =, != or ~ (contains)")
	}
	return func(d *v1alpha1.Device) bool {
		return slices.ContainsFunc(f.texts(d), is) == (t.Operator != NotEqual)
	}, nil
}

func (t Term) numberSelector(f field) (Selector, error) {
	if t.Operator == ContainsOne {
		return nil, t.BadOperator("a number is compared by > >= < <= == !=")
	}
	wanted, _, err := t.Quantity(f.units)
	if err != nil {
		return nil, err
	}
	return func(d *v1alpha1.Device) bool {
		value, known := f.number(d)
		return known && t.Operator.Holds(cmp.Compare(value, wanted))
	}, nil
}

func (t Term) versionSelector(f field) (Selector, error) {
	if t.Operator == ContainsOne {
		return nil, t.BadOperator("a version is compared by > >= < <= == !=")
	}
	if _, ok := capability(t.Value); !ok {
		return nil, t.badValue("write numbers with points between them, such as 9.0")
	}
	return func(d *v1alpha1.Device) bool {
		order, ok := compareCapabilities(f.version(d), t.Value)
		return ok && t.Operator.Holds(order)
	}, nil
}
