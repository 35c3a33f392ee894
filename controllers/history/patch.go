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

// nameOf returns the name of the revision of a placement that has some data: equal specs have one revision. A placement that was
// made anew under a name does not meet the revisions of the one before.
func nameOf(placement *v1alpha1.ModelPlacement, data []byte) string {
	const digits = 10
	sum := sha256.Sum256(append([]byte(placement.UID), data...))
	return placement.Name + "-" + hex.EncodeToString(sum[:])[:digits]
}
