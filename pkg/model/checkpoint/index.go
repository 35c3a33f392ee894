package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/internal/words"
)

// maxIndex bounds the bytes of an index. It names the tensors that a header names, and gets the bound of a header.
const maxIndex = maxSafetensorsHeader

// index is a model.safetensors.index.json: which file holds which tensor.
type index struct {
	// files are the shards, sorted.
	files []string
	// where is the file of each tensor.
	where map[string]string
}

// errNoIndex says that a JSON file is no index.
var errNoIndex = errors.New("weight_map is empty or not there: give the index that lies beside the model's weights")

// parseIndex reads an index. Shards lie beside it: a path to elsewhere is refused.
func parseIndex(content []byte) (*index, error) {
	where, err := parseWeightMap(content)
	if err != nil {
		return nil, err
	}
	shards := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(where)) {
		file := where[name]
		if !fs.ValidPath(file) || file == "." || strings.ContainsAny(file, `/\`) {
			return nil, fmt.Errorf("weight_map of %q is %q: only files beside the index are read", words.Echo(name), words.Echo(file))
		}
		shards[file] = true
	}
	return &index{files: slices.Sorted(maps.Keys(shards)), where: where}, nil
}

// parseWeightMap reads weight_map pair by pair, so that it can stop at too many.
func parseWeightMap(content []byte) (map[string]string, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	for key, err := range keys(decoder) {
		switch {
		case errors.Is(err, errNoObject):
			return nil, errNoIndex
		case err == nil && key == "weight_map":
			return parsePairs(decoder)
		}
		if err := cmp.Or(err, noJSON(decoder.Decode(new(json.RawMessage)))); err != nil {
			return nil, err
		}
	}
	return nil, errNoIndex
}

func parsePairs(decoder *json.Decoder) (map[string]string, error) {
	where := map[string]string{}
	for name, err := range keys(decoder) {
		var file string
		if err := cmp.Or(err, noJSON(decoder.Decode(&file))); err != nil {
			return nil, fmt.Errorf("weight_map: %w", err)
		}
		if _, twice := where[name]; twice {
			return nil, fmt.Errorf("weight_map has %q twice: the index is damaged", words.Echo(name))
		}
		if where[name] = file; len(where) > maxTensors {
			return nil, errTooMany
		}
	}
	if len(where) == 0 {
		return nil, errNoIndex
	}
	return where, nil
}

// hold compares the index with the files that tensors are in.
func (x *index) hold(in map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(x.where)) {
		if in[name] != x.where[name] {
			return fmt.Errorf("the index says that %q holds tensor %q, but it does not: fetch both again", words.Echo(x.where[name]), words.Echo(name))
		}
	}
	if more := len(in) - len(x.where); more > 0 {
		return fmt.Errorf("the files hold %d tensors that the index does not name: fetch both again", more)
	}
	return nil
}
