package nodeagent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	applyv1alpha1 "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
)

// withoutFields returns the configuration without some fields of its status, named as the API server names them in a
// conflict: `.status.summary.devices`, `.status.devices[id="nvidia-0000:17:00.0"].health.state`. What another manager
// holds is not taken away by that, since the agent no longer holds it.
func withoutFields(config *applyv1alpha1.AcceleratorInventoryApplyConfiguration, fields []string) (*applyv1alpha1.AcceleratorInventoryApplyConfiguration, error) {
	content, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("leave out fields held by others: %w", err)
	}
	var object map[string]any
	if err := json.Unmarshal(content, &object); err != nil {
		return nil, fmt.Errorf("leave out fields held by others: %w", err)
	}
	for _, field := range fields {
		steps := parseField(field)
		if len(steps) < 2 || !removeField(object, steps) {
			return nil, fmt.Errorf("leave out %s, which another field manager holds: no such field in the status; "+
				"remove that manager's entry from metadata.managedFields", field)
		}
	}
	if content, err = json.Marshal(object); err != nil {
		return nil, fmt.Errorf("leave out fields held by others: %w", err)
	}
	pruned := &applyv1alpha1.AcceleratorInventoryApplyConfiguration{}
	if err := json.Unmarshal(content, pruned); err != nil {
		return nil, fmt.Errorf("leave out fields held by others: %w", err)
	}
	return pruned, nil
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
			member, isObject := item.(map[string]any)
			if isList && isObject && fmt.Sprint(member[first.key]) == first.value && len(rest) > 0 {
				return removeField(member, rest)
			}
		}
		return false
	}
	object, isObject := node.(map[string]any)
	child, exists := object[first.name]
	if !isObject || !exists {
		return false
	}
	if len(rest) == 0 {
		delete(object, first.name)
		return true
	}
	return removeField(child, rest)
}
