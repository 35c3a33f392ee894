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
		if !strings.HasPrefix(field, ".status.") || !removeField(manifest, field) {
			return fmt.Errorf("leave out %s, which another field manager holds: no such field in the status; "+
				"remove that manager's entry from metadata.managedFields", field)
		}
	}
	return nil
}

// fieldStep matches a step into an object: `.name` to a member, or `[key=value]` to the item of a list, where a text is quoted.
var fieldStep = regexp.MustCompile(`^(?:\.([A-Za-z0-9]+)|\[([A-Za-z0-9]+)=("(?:[^"\\]|\\.)*"|[^\]",]+)\])`)

// removeField removes what a field's name leads to, and says whether it was there. Only members can be removed: an item is held
// by its fields.
func removeField(node any, field string) bool {
	step := fieldStep.FindStringSubmatch(field)
	if step == nil {
		return false
	}
	name, key, value, rest := step[1], step[2], step[3], strings.TrimPrefix(field, step[0])
	if name != "" {
		members, _ := node.(object)
		child, exists := members[name]
		if exists && rest == "" {
			delete(members, name)
			return true
		}
		return removeField(child, rest)
	}
	if text, err := strconv.Unquote(value); err == nil {
		value = text
	}
	items, _ := node.([]any)
	for _, item := range items {
		if member, isObject := item.(object); isObject && fmt.Sprint(member[key]) == value {
			return removeField(member, rest)
		}
	}
	return false
}
