// Package await waits: for a time, for a request, and for a value to become another.
package await

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Pause returns after a time by the clock, when there is a request in woken (nil is never), or when the context ends. It says
// whether to go on: the context has not ended.
func Pause(ctx context.Context, c clock.Clock, length time.Duration, woken <-chan struct{}) bool {
	timer := c.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-woken:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Signal makes a request in a channel of capacity 1 without waiting; one that is pending already stands for both.
func Signal[T any](requests chan<- T, request T) {
	select {
	case requests <- request:
	default:
	}
}

// Value is a value that several goroutines look at and await. The zero value of it has the zero value of T.
type Value[T any] struct {
	mu      sync.Mutex
	now     T
	changed chan struct{}
}

// Get returns the value, and a channel that is closed with the next Set or Update.
func (v *Value[T]) Get() (now T, changed <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.changed == nil {
		v.changed = make(chan struct{})
	}
	return v.now, v.changed
}

// Set gives it another value.
func (v *Value[T]) Set(next T) { v.Update(func(now *T) { *now = next }) }

// Update changes it while nobody looks.
func (v *Value[T]) Update(change func(now *T)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change(&v.now)
	if v.changed != nil {
		close(v.changed)
		v.changed = nil
	}
}
