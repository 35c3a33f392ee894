package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
)

var errNoObject = errors.New("no JSON object: the file is damaged or of another format")

// keys reads a JSON object key by key, since a map of the whole would take many times its size. The caller decodes the value
// of each key. An error ends the object.
func keys(decoder *json.Decoder) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
			yield("", errNoObject)
			return
		}
		for decoder.More() {
			key, err := decoder.Token()
			name, _ := key.(string)
			if !yield(name, noJSON(err)) || err != nil {
				return
			}
		}
		if _, err := decoder.Token(); err != nil {
			yield("", noJSON(err))
		}
	}
}

// noJSON says of a decoder's error that the file is damaged.
func noJSON(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("no JSON: %w; the file is damaged", err)
}
