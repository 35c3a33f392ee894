package host

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// kindError is an error whose kind does not follow from what it wraps.
type kindError struct {
	error
	kind v1alpha1.ErrorKind
}

// Unwrap gives what is of the kind.
func (e kindError) Unwrap() error { return e.error }

// OfKind says of which kind an error is; its text stays. No error stays none.
func OfKind(kind v1alpha1.ErrorKind, err error) error {
	if err == nil {
		return nil
	}
	return kindError{err, kind}
}

// causeKinds are the kinds of errors that are told apart by what they wrap, the more telling ones first.
var causeKinds = []struct {
	cause error
	kind  v1alpha1.ErrorKind
}{
	{context.DeadlineExceeded, v1alpha1.ErrorTimeout},
	{errStuck, v1alpha1.ErrorTimeout},
	{ErrNoCommand, v1alpha1.ErrorToolNotFound},
	{ErrTooLarge, v1alpha1.ErrorTooLarge},
	{fs.ErrPermission, v1alpha1.ErrorPermissionDenied},
	{fs.ErrNotExist, v1alpha1.ErrorNotFound},
}

// ErrorKind returns the kind of the first problem; empty where there is no problem.
func ErrorKind(problems ...error) v1alpha1.ErrorKind {
	problem := cmp.Or(problems...)
	if problem == nil {
		return ""
	}
	for _, known := range causeKinds {
		if errors.Is(problem, known.cause) {
			return known.kind
		}
	}
	if named, ok := errors.AsType[kindError](problem); ok {
		return named.kind
	}
	if _, ran := errors.AsType[*commandFailure](problem); ran || isSyntax(problem) { // what the tool printed was of no use
		return v1alpha1.ErrorMalformed
	}
	return v1alpha1.ErrorOther
}

// isSyntax says whether a parser of the standard library could not read a text.
func isSyntax(problem error) bool {
	_, number := errors.AsType[*strconv.NumError](problem)
	_, jsonText := errors.AsType[*json.SyntaxError](problem)
	_, jsonType := errors.AsType[*json.UnmarshalTypeError](problem)
	_, xmlText := errors.AsType[*xml.SyntaxError](problem)
	return number || jsonText || jsonType || xmlText
}

// JoinProblems words what could not be read in one line; empty where all could.
func JoinProblems(problems ...error) string {
	all := errors.Join(problems...)
	if all == nil {
		return ""
	}
	return strings.ReplaceAll(all.Error(), "\n", "; ")
}
