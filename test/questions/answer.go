package questions

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// answer is what a command answered to a question.
type answer struct {
	// Value is what was taken: a number in the question's unit, or a value of another type.
	Value any
	// Low and High are the range that the answer states; both are Value where it states none.
	Low, High float64
	// Basis is what the answer says that it rests on.
	Basis string
	// Uncertain says that the answer says of itself that it is closer to the limit than it is known.
	Uncertain bool
	// Refusal is the reason of a command that failed.
	Refusal string
}

// read takes the answer from what the command printed.
func (q *question) read(output, errors string, failed bool) (answer, error) {
	if q.Judge == refused {
		return answer{Refusal: refusalOf(errors, failed)}, nil
	}
	var printed any
	if err := json.Unmarshal([]byte(output), &printed); err != nil && failed && output == "" {
		return answer{Refusal: refusalOf(errors, failed)}, nil
	} else if err != nil {
		return answer{}, fmt.Errorf("no JSON was printed, but %q and %q: %w", output, errors, err)
	}
	read := answer{Basis: basisOf(printed, q.Take[0])}
	if object, ok := printed.(map[string]any); ok && q.Take[0] == "fits" {
		read.Uncertain, _ = object["uncertain"].(bool)
	}
	values := make([]any, len(q.Take))
	for i, path := range q.Take {
		value, found := pathValue(printed, path)
		if !found {
			return answer{}, fmt.Errorf("%s is not in what was printed", path)
		}
		values[i] = value
	}
	number, isNumber := q.combine(values)
	if !isNumber {
		read.Value = values[0]
		return read, nil
	}
	read.Value, read.Low, read.High = number, number, number
	if low, high, found := rangeOf(printed, q.Take[0]); found {
		read.Low, read.High = low*q.times(), high*q.times()
	}
	return read, nil
}

func (q *question) times() float64 {
	if q.Times == 0 {
		return 1
	}
	return q.Times
}

// combine adds the numbers, or multiplies them where that is asked; it says no where one is none.
func (q *question) combine(values []any) (float64, bool) {
	sum, all := 0.0, 1.0
	for _, value := range values {
		number, ok := value.(float64)
		if !ok {
			return 0, false
		}
		sum, all = sum+number, all*number
	}
	if q.Judge == product {
		return all, true
	}
	return sum * q.times(), true
}

// right says whether the answer agrees with what is known.
func (q *question) right(a answer) bool {
	if a.Refusal != "" && q.Judge != refused {
		return false
	}
	low, high := q.Known.interval()
	number, _ := a.Value.(float64)
	switch q.Judge {
	case equal, product:
		return a.Uncertain || reflect.DeepEqual(a.Value, q.Known.Value)
	case refused:
		return a.Refusal != "" && strings.Contains(a.Refusal, q.Take[0])
	case inRange:
		return a.Low <= high && low <= a.High && a.Low < a.High
	case within:
		return math.Abs(number-low) <= low*q.Percent/100
	case digits:
		const exact = 1e-9 // half a digit may have been rounded either way
		return math.Abs(number-low) <= (0.5+exact)*math.Pow10(-q.Digits)
	case between:
		return low <= number && number <= high
	case contains:
		return hasAll(a.Value, q.Known.Value)
	}
	return false
}

// hasAll says whether a list has every element of another.
func hasAll(list, wanted any) bool {
	have, _ := list.([]any)
	want, _ := wanted.([]any)
	for _, element := range want {
		if !slices.Contains(have, element) {
			return false
		}
	}
	return len(want) > 0
}

// refusalOf is the first line of the error of a command that failed.
func refusalOf(errors string, failed bool) string {
	if !failed {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(errors), "\n")
	return first
}

// pathValue finds a value by names joined by points: a[0] is an element, a[name=1] the first one that has it so, a.length how many
// there are.
func pathValue(value any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		if list, isList := value.([]any); isList && name == "length" {
			value = float64(len(list))
			continue
		}
		name, index, indexed := strings.Cut(strings.TrimSuffix(name, "]"), "[")
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = object[name]; !ok {
			return nil, false
		}
		if indexed {
			if value, ok = element(value, index); !ok {
				return nil, false
			}
		}
	}
	return value, true
}

func element(value any, index string) (any, bool) {
	list, ok := value.([]any)
	if !ok {
		return nil, false
	}
	if key, want, selects := strings.Cut(index, "="); selects {
		for _, item := range list {
			object, _ := item.(map[string]any)
			if fmt.Sprint(object[key]) == want {
				return item, true
			}
		}
		return nil, false
	}
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(list) {
		return nil, false
	}
	return list[i], true
}

// rangeOf finds the range that is printed for a path: below ranges beside it, or under its name with Range after it.
func rangeOf(printed any, path string) (low, high float64, found bool) {
	folder, name := "", path
	if i := strings.LastIndex(path, "."); i >= 0 {
		folder, name = path[:i+1], path[i+1:]
	}
	for _, candidate := range []string{folder + "ranges." + name, path + "Range"} {
		lowest, hasLow := pathValue(printed, candidate+".low")
		highest, hasHigh := pathValue(printed, candidate+".high")
		if hasLow && hasHigh {
			low, _ = lowest.(float64)
			high, _ = highest.(float64)
			return low, high, true
		}
	}
	return 0, 0, false
}

// basisOf is the basis that is printed beside a path, or for the estimate beside it.
func basisOf(printed any, path string) string {
	folder := ""
	if i := strings.LastIndex(path, "."); i >= 0 {
		folder = path[:i+1]
	}
	for _, candidate := range []string{folder + "basis", folder + "estimate.basis"} {
		if basis, found := pathValue(printed, candidate); found {
			return fmt.Sprint(basis)
		}
	}
	return ""
}
