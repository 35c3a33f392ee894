package objects

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// What failed is tried again after leastRetry, which doubles with each failure up to mostRetry.
const (
	leastRetry = 10 * time.Millisecond
	mostRetry  = 15 * time.Second
)

// mostAtOnce bounds how many objects a controller reconciles at once. Nearly all of that time it waits for the API server.
const mostAtOnce = 16

// Parallel are the options of a controller whose objects do not hang on each other, so that several are reconciled at once.
func Parallel() controller.Options {
	return controller.Options{MaxConcurrentReconciles: mostAtOnce, RateLimiter: Retry()}
}

// Retry is when a controller tries again what failed. Without it what failed for ten minutes, as all does while the API server is away, would wait
// for as long again when that is over.
func Retry() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](leastRetry, mostRetry)
}
