package nodeagent

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// removeFields leaves fields of the status out of an apply, named as the API server names them in a conflict:
// `.status.summary.devices`, `.status.devices[id="nvidia-0000:17:00.0"].health.state`. What another manager holds is not
// taken away by that, since the agent no longer holds it.
func removeFields(manifest object, fields []string) error {
	for _, field := range fields {
		steps := parseField(field)
		if len(steps) < 2 || !removeField(manifest, steps) {
			return fmt.Errorf("leave out %s, which another field manager holds: no such field in the status; "+
				"remove that manager's entry from metadata.managedFields", field)
		}
	}
	return nil
}

// step is one step into an object: to a member, or to the item of a list of which one field has a value.
type step struct {
	name       string
	isItem     bool
	key, value string
}

// fieldStep matches `.name` or `[key=value]`, where a text value is quoted.
var fieldStep = regexp.MustCompile(`^(?:\.([A-Za-z0-9]+)|\[([A-Za-z0-9]+)=("(?:[^"\\]|\\.)*"|[^\]",]+)\])`)

// parseField returns the steps of a field's name, none where it is written in another way.
func parseField(field string) []step {
	var steps []step
	for rest := field; rest != ""; {
		match := fieldStep.FindStringSubmatch(rest)
		if match == nil {
			return nil
		}
		value := match[3]
		if text, err := strconv.Unquote(value); err == nil {
			value = text
		}
		steps = append(steps, step{name: match[1], isItem: match[2] != "", key: match[2], value: value})
		rest = strings.TrimPrefix(rest, match[0])
	}
	return steps
}

// removeField removes what the steps lead to, and says whether it was there. Only members can be removed: an item is held
// by its fields.
func removeField(node any, steps []step) bool {
	first, rest := steps[0], steps[1:]
	if first.isItem {
		items, isList := node.([]any)
		for _, item := range items {
			member, isObject := item.(object)
			if isList && isObject && fmt.Sprint(member[first.key]) == first.value && len(rest) > 0 {
				return removeField(member, rest)
			}
		}
		return false
	}
	members, isObject := node.(object)
	child, exists := members[first.name]
	if !isObject || !exists {
		return false
	}
	if len(rest) == 0 {
		delete(members, first.name)
		return true
	}
	return removeField(child, rest)
}
