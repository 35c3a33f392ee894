package plan

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
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

// Reasons of Unplaceable.
const (
	// ReasonNoDevices: no node has an accelerator.
	ReasonNoDevices = "NoDevices"
	// ReasonNoMatch: there are accelerators, but none that the placement allows.
	ReasonNoMatch = "NoMatch"
	// ReasonNoneFree: there are accelerators that the placement allows, but none is free.
	ReasonNoneFree = "NoneFree"
	// ReasonTooLarge: the free devices cannot hold even one copy.
	ReasonTooLarge = "TooLarge"
	// ReasonTooFewDevices: the free devices hold some copies, but not all that are asked for.
	ReasonTooFewDevices = "TooFewDevices"
)

// Unplaceable says why the cluster cannot hold a model now, and what would change that.
type Unplaceable struct {
	// Reason is one word: one of the constants above, or ReasonLimit where plans fit and none keeps the limits.
	Reason string
	// Message is for people, in sentences: what is needed, what is free, what would make it fit.
	Message string
	// Shortfall has the numbers.
	Shortfall v1alpha1.Shortfall
	// Rejected are the forms that were tried, each with its reason.
	Rejected []v1alpha1.RejectedPlan
	// remedies are the suggestions with what shows that they help.
	remedies []remedy
}

func (e *Unplaceable) Error() string { return strings.TrimSuffix(e.Message, ".") }
