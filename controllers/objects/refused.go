package objects

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Refused is a failure that concerns the objects of one placement alone: a quota, an admission policy, a namespace that is being
// deleted, a finalizer. Its placement says it and tries again after a while; nobody else waits.
type Refused struct {
	// Reason is a word for a condition.
	Reason string
	Err    error
}

func (e *Refused) Error() string { return e.Err.Error() }

// Unwrap returns what was said.
func (e *Refused) Unwrap() error { return e.Err }

// Refuse says why an object could not be written. It returns the error as it is where the API server did not answer, or is too busy, which
// concerns everybody, and where the object was not as it was read.
func Refuse(reason string, err error) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsConflict(err) {
		return err
	}
	return &Refused{reason, err}
}
