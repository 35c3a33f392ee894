package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// scaling are the fields of a spec that no revision has: who scales or suspends a placement does not change what it is.
var scaling = []string{"replicas", "suspend"}

// operation is a step of a JSON patch (RFC 6902).
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// data is what a revision holds: the JSON patch that gives a placement its spec.
type data struct {
	Patch []operation `json:"patch"`
}

// patchOf returns the data of the revision that has a spec. A field that the spec lacks is set to null, of which the API server
// makes its default or nothing.
func patchOf(spec *v1alpha1.ModelPlacementSpec) ([]byte, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode spec: %w", err)
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("decode spec: %w", err)
	}
	var d data
	for field := range reflect.TypeFor[v1alpha1.ModelPlacementSpec]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if slices.Contains(scaling, name) {
			continue
		}
		value, has := values[name]
		if !has {
			value = json.RawMessage("null")
		}
		d.Patch = append(d.Patch, operation{"add", "/spec/" + name, value})
	}
	return json.Marshal(d)
}

// annotation has in a plan the data of the revision whose spec the plan was made for, so that this spec needs no object of its own while it is
// the only one that the placement ever had.
const annotation = v1alpha1.Prefix + "spec"

// Note adds to a new plan what Keeper needs to keep the spec that it is made for, when another spec comes.
func Note(plan *v1alpha1.ShardingPlan, placement *v1alpha1.ModelPlacement) error {
	text, err := patchOf(&placement.Spec)
	if err != nil {
		return err
	}
	if plan.Annotations == nil {
		plan.Annotations = map[string]string{}
	}
	plan.Annotations[annotation] = string(text)
	return nil
}

// noted returns what Note added to a plan; nil where there is no plan, or it is from before that.
func noted(plan *v1alpha1.ShardingPlan) []byte {
	if plan == nil || plan.Annotations[annotation] == "" {
		return nil
	}
	return []byte(plan.Annotations[annotation])
}

// nameOf returns the name of the revision of a placement that has some data: equal specs have one revision. A placement that was
// made anew under a name does not meet the revisions of the one before.
func nameOf(placement *v1alpha1.ModelPlacement, data []byte) string {
	const digits = 10
	sum := sha256.Sum256(append([]byte(placement.UID), data...))
	return placement.Name + "-" + hex.EncodeToString(sum[:])[:digits]
}
