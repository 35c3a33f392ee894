package objects

import (
	"context"
	"fmt"
	"runtime/debug"

	ctrl "sigs.k8s.io/controller-runtime"
)

// ReasonPanic is the reason of a Refused where this program has an error that shows with one placement.
const ReasonPanic = "InternalError"

// Guarded does something for a placement and returns its panic as a *Refused, so that an error of this program concerns that placement alone.
func Guarded(ctx context.Context, do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			ctrl.LoggerFrom(ctx).Error(nil, "panic", "value", v, "stack", string(debug.Stack()))
			err = &Refused{Reason: ReasonPanic, Err: fmt.Errorf(
				"the operator has an error, %v: please report it with this placement and the stack in the operator's log", v)}
		}
	}()
	return do()
}
