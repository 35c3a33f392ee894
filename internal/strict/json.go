// Package strict reads what others wrote as nothing but what was agreed on.
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// JSON reads one JSON object. It refuses fields that the type does not have, and anything after the object.
func JSON[T any](text []byte) (*T, error) {
	var object T
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object: remove it")
	}
	return &object, nil
}
