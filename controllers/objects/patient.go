package objects

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// mostConflicts is after how many conflicts in a row another one is an error after all: two may be writing the same thing, each over the other.
const mostConflicts = 8

// patient is a reconciler whose conflicts are no errors.
type patient struct {
	reconcile.Reconciler

	pauses workqueue.TypedRateLimiter[reconcile.Request]
}

// Patient has a reconciler try again where somebody wrote an object before it did, or the cache does not have its own last write yet. Neither is a failure
// that somebody could mend, so that it is neither logged nor counted as an error. The pauses are its own: a controller's end with each success, and this is one.
func Patient(r reconcile.Reconciler, pauses workqueue.TypedRateLimiter[reconcile.Request]) reconcile.Reconciler {
	return &patient{r, pauses}
}

// Reconcile implements reconcile.Reconciler.
func (p *patient) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := p.Reconciler.Reconcile(ctx, request)
	if !apierrors.IsConflict(err) {
		p.pauses.Forget(request)
		return result, err
	}
	if p.pauses.NumRequeues(request) >= mostConflicts {
		return result, err
	}
	ctrl.LoggerFrom(ctx).V(1).Info("somebody else wrote meanwhile", "conflict", err.Error())
	return reconcile.Result{RequeueAfter: p.pauses.When(request)}, nil
}
