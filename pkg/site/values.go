package site

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func (o object) has(key string) bool { _, ok := o[key]; return ok }

// word is a field that is a text; "" where it is none.
func (o object) word(key string) string { s, _ := o[key].(string); return s }

// number is a field that is a number; 0 where it is none, or below 0.
func (o object) number(key string) float64 { n, _ := o[key].(float64); return max(0, n) }

func (o object) whole(key string) int32 { return whole32(o.number(key)) }

// statistic is a number of a block of statistics, or its mean where it has none of that name.
func (o object) statistic(block, name string) float64 {
	of, _ := o[block].(map[string]any)
	if n := object(of).number(name); n > 0 {
		return n
	}
	return object(of).number("avg")
}

// whole32 and whole64 round to whole numbers within what the API takes.
func whole32(n float64) int32 { return int32(min(max(0, n), math.MaxInt32)) }

func whole64(n float64) int64 { return int64(math.Round(min(max(0, n), 1<<53))) }

// search returns the value of a key at the smallest depth of nested objects and lists; nil where there is none.
func search(in any, key string) any {
	level := []any{in}
	for depth := 0; depth < 8 && len(level) > 0; depth++ {
		var next []any
		for _, v := range level {
			switch v := v.(type) {
			case map[string]any:
				for _, name := range slices.Sorted(maps.Keys(v)) {
					if name == key || strings.HasSuffix(name, "."+key) {
						return v[name]
					}
					next = append(next, v[name])
				}
			case []any:
				next = append(next, v...)
			}
		}
		level = next
	}
	return nil
}

// firstWord is a text, the first one of a list, or the name of the first item.
func firstWord(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		if len(v) > 0 {
			return firstWord(v[0])
		}
	case map[string]any:
		if name, ok := v["name"]; ok {
			return firstWord(name)
		}
		return firstWord(v["items"])
	}
	return ""
}

// degrees are those that are known; nil where none is.
func degrees(tensor, pipeline, data, expert int32) *v1alpha1.Parallelism {
	var p v1alpha1.Parallelism
	known := false
	for _, d := range []struct {
		n  int32
		to **int32
	}{{tensor, &p.Tensor}, {pipeline, &p.Pipeline}, {data, &p.Data}, {expert, &p.Expert}} {
		if d.n > 0 {
			*d.to, known = &d.n, true
		}
	}
	if !known {
		return nil
	}
	return &p
}
