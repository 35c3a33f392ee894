package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/internal/words"
)

// fields reads a config.json and keeps the first error, so that reading an architecture needs no check at each field.
type fields struct {
	values map[string]any
	// outer is the object around values in a multimodal model.
	outer map[string]any
	// defaults are the values of the model_type's class for fields that its files leave out.
	defaults map[string]int64
	// defaulted are the fields that were taken from defaults.
	defaulted   []string
	assumptions []string
	// gatedHeads says that each query head has a gate with one output; widthGiven that the class knows the width of its blocks.
	gatedHeads, widthGiven bool
	// nextTokenModules is the number of multi-token-prediction modules in the checkpoint.
	nextTokenModules int
	// otherModules is the number of such modules of another form.
	otherModules int
	err          error
}

// Bounds of the fields, equal to the API's.
const (
	maxLayers = 1024
	maxHeads  = 1 << 16
	maxHidden = 1 << 20
	maxWidth  = 1 << 24
	maxTokens = math.MaxInt32
)

func (f *fields) assume(format string, args ...any) {
	f.assumptions = append(f.assumptions, fmt.Sprintf(format, args...))
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// finish returns the first error, and adds to the assumptions what was taken from the defaults of the class.
func (f *fields) finish() error {
	if len(f.defaulted) > 0 {
		slices.Sort(f.defaulted)
		f.assume("taken from the defaults of the model_type: %s", strings.Join(slices.Compact(f.defaulted), ", "))
	}
	return f.err
}

// bringOut makes the fields of objects within the file readable as fields of the file itself.
func (f *fields) bringOut(names []string) {
	if len(names) == 0 {
		return
	}
	values := maps.Clone(f.values)
	for _, name := range names {
		inner, _ := f.values[name].(map[string]any)
		maps.Copy(values, inner)
	}
	f.values = values
}

// value returns the first of the fields that is present and not null, and its name.
func (f *fields) value(names ...string) (any, string) {
	for _, object := range []map[string]any{f.values, f.outer} {
		for _, name := range names {
			if v := object[name]; v != nil {
				return v, name
			}
		}
	}
	return nil, ""
}

// number returns the first of the fields that is present, else its default; false where there is neither. The value must
// be a whole number from low to high.
func (f *fields) number(low, high int64, names ...string) (int32, bool) {
	v, name := f.value(names...)
	if v == nil {
		n, ok := f.defaults[names[0]]
		if ok {
			f.defaulted = append(f.defaulted, fmt.Sprintf("%s %d", names[0], n))
		}
		return int32(n), ok
	}
	if list, isList := v.([]any); isList {
		v = f.largest(name, list)
	}
	n, ok := whole(v)
	if !ok || n < low || n > high {
		f.fail("%s is %s: set it to a whole number from %d to %d", name, shown(v), low, high)
		return 0, false
	}
	return int32(n), true
}

// largest returns the largest number of a list with one for each layer; the list itself where it has anything else.
func (f *fields) largest(name string, list []any) any {
	var most, least any
	for _, v := range list {
		n, ok := whole(v)
		if !ok {
			return list
		}
		if high, _ := whole(most); most == nil || n > high {
			most = v
		}
		if low, _ := whole(least); least == nil || n < low {
			least = v
		}
	}
	if most != least {
		f.assume("%s differs between layers (%s to %s): every layer is taken for the largest", name, shown(least), shown(most))
	}
	return most
}

// required is number where the field must be there.
func (f *fields) required(low, high int64, names ...string) int32 {
	n, ok := f.number(low, high, names...)
	if !ok {
		f.fail("%s is missing: add it, or give the model's name or number of parameters instead", names[0])
	}
	return n
}

// optional is number with a default that needs no mention.
func (f *fields) optional(byDefault int32, low, high int64, names ...string) int32 {
	if n, ok := f.number(low, high, names...); ok {
		return n
	}
	return byDefault
}

// boolean returns the field, and whether it is there.
func (f *fields) boolean(name string) (value, ok bool) {
	v, _ := f.value(name)
	if v == nil {
		return false, false
	}
	value, ok = v.(bool)
	if !ok {
		f.fail("%s is %s: set it to true or false", name, shown(v))
	}
	return value, ok
}

// is returns a boolean field; false where it is absent.
func (f *fields) is(name string) bool {
	value, _ := f.boolean(name)
	return value
}

// text returns the field; empty where it is absent or no text.
func (f *fields) text(name string) string {
	v, _ := f.value(name)
	s, _ := v.(string)
	return s
}

func (f *fields) object(name string) (map[string]any, bool) {
	v, _ := f.value(name)
	o, ok := v.(map[string]any)
	return o, ok
}

func (f *fields) list(name string) []any {
	v, _ := f.value(name)
	l, _ := v.([]any)
	return l
}

// whole reads a JSON number without a fraction, in any notation.
func whole(v any) (int64, bool) {
	number, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(number), 10, 64); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(string(number), 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > maxTokens {
		return 0, false
	}
	return int64(x), true
}

// shown prints a value for an error, shortened.
func shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "not readable"
	}
	return words.Echo(string(text))
}
