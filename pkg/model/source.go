package model

import (
	"errors"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// FromSource returns the model that a placement describes itself. A model that is given by an architecture gets the name.
// A config in a ConfigMap is read by FromConfig.
func FromSource(name string, s *v1alpha1.ModelSource) (*Model, error) {
	switch {
	case s.Name != nil:
		return Lookup(*s.Name)
	case s.Parameters != nil:
		return FromParameters(*s.Parameters)
	case s.Architecture != nil:
		return FromArchitecture(name, *s.Architecture)
	default:
		return nil, errors.New("none of name, parameters, architecture and configMap is set: set one")
	}
}
