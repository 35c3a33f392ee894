// Package ledger makes sure that a device belongs to at most one active plan, with any number of operators that each
// believe to lead and with a crash between any two requests. docs/ledger.md has the protocol and why it holds.
//
// The reservation is the ShardingPlan itself. The ledger is one small ConfigMap that serves as a fence: a plan comes into
// force only when an update of the ledger succeeded that names the plan and carries the resourceVersion which was read
// before the plans were listed. Its record is a write-ahead log of the plans that were committed and are not in force yet. Each of
// them is finished by itself, by whoever reconciles its placement.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// Name is the name of the ledger's ConfigMap in the operator's namespace.
const Name = "rankwright-ledger"

// ErrConflict says that another writer was faster. Nothing was decided; the caller starts again from fresh reads.
var ErrConflict = errors.New("the ledger was changed by another writer")

// Ledger is the fence in one cluster. Its methods may be called by several processes at once.
type Ledger struct {
	// Reader reads from the API server, never from a cache.
	Reader client.Reader
	// Writer writes plans and the ledger.
	Writer client.Client
	// Namespace of the ConfigMap.
	Namespace string
	// Now is the clock of the conditions.
	Now func() time.Time

	// One commit at a time in this process, so that its own housekeeping does not take a plan that is being
	// committed for a leftover. Between processes the fence does the same at the price of a retry.
	mu       sync.Mutex
	memory   memory
	settling settling
}

// view is the ledger, and the state that was listed after it was read or is remembered.
type view struct {
	config   *corev1.ConfigMap
	sequence int64
	// left are plans of the state that are gone, which count as taken until the ledger is written.
	left []types.UID
	State
}

// read returns the ledger and the plans, without which nothing can be committed. Where they are not remembered they are listed after the ledger was
// read. The order matters: every plan that was committed before the version read is in
// the list, unless it was deleted since, so that a commit whose plan the list has as active or does not have is settled for good.
//
// It must be called with the lock held.
func (l *Ledger) read(ctx context.Context) (*view, error) {
	if v := l.memory.view(); v != nil {
		return v, nil
	}
	l.memory.listing()
	config, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	var plans v1alpha1.ShardingPlanList
	if err := l.Reader.List(ctx, &plans); err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	l.memory.listed(config, decode(config.Data), plans.Items)
	if v := l.memory.view(); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("plans were made while they were listed: %w", ErrConflict)
}

// current returns what read does, to those who commit nothing.
func (l *Ledger) current(ctx context.Context) (*view, error) {
	if v := l.memory.view(); v != nil {
		return v, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read(ctx)
}

// vacant returns what read does, and counts nothing as taken that is free: where plans are gone since, the ledger is written first.
func (l *Ledger) vacant(ctx context.Context) (*view, error) {
	v, err := l.read(ctx)
	if err != nil || len(v.left) == 0 {
		return v, err
	}
	if err := l.write(ctx, v); err != nil {
		return nil, err
	}
	return l.read(ctx)
}

// open reads the ConfigMap and creates it where it is missing; of several creators one wins.
func (l *Ledger) open(ctx context.Context) (*corev1.ConfigMap, error) {
	config := &corev1.ConfigMap{}
	if found, err := objects.Read(ctx, l.Reader, client.ObjectKey{Namespace: l.Namespace, Name: Name}, config); found || err != nil {
		return config, err
	}
	config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: Name}, Data: stamped(record{}.encode())}
	err := l.Writer.Create(ctx, config, client.FieldOwner(v1alpha1.OperatorFieldManager))
	if apierrors.IsAlreadyExists(err) {
		return nil, ErrConflict
	}
	if err != nil {
		return nil, fmt.Errorf("create ledger %s/%s: %w", l.Namespace, Name, err)
	}
	return config, nil
}

// write replaces the record if nobody wrote since v was read: by the commits that were pending then, and by more. It returns
// ErrConflict only where the record was certainly not written by this call.
func (l *Ledger) write(ctx context.Context, v *view, more ...entry) error {
	next := record{
		Sequence: v.sequence + 1, Pending: append(v.pending[:len(v.pending):len(v.pending)], more...), Revisions: l.memory.living(v.revisions),
	}
	config, err := l.replace(ctx, v.config, next.encode())
	if err == nil {
		l.memory.wrote(config, next, v.left)
		return nil
	}
	l.memory.forget()
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ErrConflict
	}
	return fmt.Errorf("write ledger %s/%s: %w", l.Namespace, Name, err)
}

// Shown has the ledger learn of a plan that an informer shows. Without that it knows what it listed and wrote.
func (l *Ledger) Shown(plan *v1alpha1.ShardingPlan) { l.memory.shown(plan) }

// Gone has the ledger learn that an informer no longer shows a plan.
func (l *Ledger) Gone(plan *v1alpha1.ShardingPlan) { l.memory.shownGone(plan.UID) }

// Updated returns the plans of a name of placements: those that an informer shows, as they are by what was written here since.
func (l *Ledger) Updated(shown []v1alpha1.ShardingPlan, namespace, placement string) []v1alpha1.ShardingPlan {
	return l.memory.updated(shown, namespace, placement)
}
