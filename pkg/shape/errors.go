package shape

import (
	"fmt"
	"strings"
)

// InvalidRequest is a request that cannot be meant, whatever the cluster has.
type InvalidRequest struct {
	// Field of the placement's spec.
	Field string
	// Message names field, value and remedy, in a sentence for people.
	Message string
}

func (e *InvalidRequest) Error() string { return strings.TrimSuffix(e.Message, ".") }

func invalid(field, value, remedy string) error {
	return &InvalidRequest{Field: field, Message: fmt.Sprintf("%s is %s: %s.", field, value, remedy)}
}
