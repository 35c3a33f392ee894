package remedy

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/shape"
)

// editsOf returns what an edit changes of a placement's spec, field by field in order of their paths.
func editsOf(spec *v1alpha1.ModelPlacementSpec, edit shape.Edit) ([]v1alpha1.FieldEdit, error) {
	if edit == nil {
		return nil, nil
	}
	changed := spec.DeepCopy()
	edit(changed)
	before, err := fieldsOf(spec)
	if err != nil {
		return nil, err
	}
	after, err := fieldsOf(changed)
	if err != nil {
		return nil, err
	}
	return differences("spec", before, after)
}

func fieldsOf(spec *v1alpha1.ModelPlacementSpec) (fields map[string]any, err error) {
	text, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return nil, fmt.Errorf("fields of a spec: %w", err)
	}
	return fields, nil
}

// differences returns the fields that two objects at a path differ in; what the second lacks gets the value null.
func differences(path string, before, after map[string]any) ([]v1alpha1.FieldEdit, error) {
	keys := slices.Collect(maps.Keys(before))
	for key := range after {
		if _, has := before[key]; !has {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var edits []v1alpha1.FieldEdit
	for _, key := range keys {
		old, isOld := before[key].(map[string]any)
		next, isNext := after[key].(map[string]any)
		if isOld && isNext {
			inner, err := differences(path+"."+key, old, next)
			if err != nil {
				return nil, err
			}
			edits = append(edits, inner...)
			continue
		}
		if reflect.DeepEqual(before[key], after[key]) {
			continue
		}
		value, err := json.Marshal(after[key])
		if err != nil {
			return nil, fmt.Errorf("value of %s.%s: %w", path, key, err)
		}
		edits = append(edits, v1alpha1.FieldEdit{Path: path + "." + key, Value: string(value)})
	}
	return edits, nil
}
