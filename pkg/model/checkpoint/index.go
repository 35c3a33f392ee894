package checkpoint

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// maxIndex is the size in bytes of an index; that of DeepSeek-V3 has 9 MB.
const maxIndex = 100_000_000

// index is a model.safetensors.index.json: which file holds which tensor.
type index struct {
	// files are the shards, sorted.
	files []string
	// where is the file of each tensor.
	where map[string]string
}

// parseIndex reads an index. Shards lie beside it: a path to elsewhere is refused.
func parseIndex(content []byte) (*index, error) {
	var raw struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(content, &raw); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	if len(raw.WeightMap) == 0 {
		return nil, fmt.Errorf("weight_map is empty: give the index that lies beside the model's weights")
	}
	if len(raw.WeightMap) > maxTensors {
		return nil, errTooMany
	}
	shards := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(raw.WeightMap)) {
		file := raw.WeightMap[name]
		if !fs.ValidPath(file) || file == "." || strings.ContainsAny(file, `/\`) {
			return nil, fmt.Errorf("weight_map of %q is %q: only files beside the index are read", clip(name), clip(file))
		}
		shards[file] = true
	}
	return &index{files: slices.Sorted(maps.Keys(shards)), where: raw.WeightMap}, nil
}

// isIndex says whether some JSON is an index rather than a config.
func isIndex(content []byte) bool {
	var raw struct {
		WeightMap json.RawMessage `json:"weight_map"`
	}
	return json.Unmarshal(content, &raw) == nil && raw.WeightMap != nil
}

// hold compares the index with the files that tensors are in.
func (x *index) hold(in map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(x.where)) {
		if in[name] != x.where[name] {
			return fmt.Errorf("the index says that %q holds tensor %q, but it does not: fetch both again", clip(x.where[name]), clip(name))
		}
	}
	if more := len(in) - len(x.where); more > 0 {
		return fmt.Errorf("the files hold %d tensors that the index does not name: fetch both again", more)
	}
	return nil
}
