package snapshot

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/rankwright/rankwright/pkg/fleet"
)

// Tally follows what the pods of the whole cluster ask of their nodes. Of a pod it keeps its node and its sums alone. It lags behind as an
// informer does: a pod that was scheduled a moment ago may be missing, and the scheduler has the last word.
type Tally struct {
	pods cache.ListerWatcher
	// Freed takes a value when a node has more room than before, unless it holds one already.
	Freed chan struct{}

	filled chan struct{}
	once   sync.Once
	mu     sync.RWMutex
	usage  fleet.Usage
}

// NewTally returns a tally of a cluster's pods, to be run by Start.
func NewTally(config *rest.Config) (*Tally, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of pods: %w", err)
	}
	onNodes := fields.ParseSelectorOrDie("spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed")
	pods := cache.NewListWatchFromClient(clients.CoreV1().RESTClient(), "pods", corev1.NamespaceAll, onNodes)
	return &Tally{
		pods:  cache.ToListWatcherWithWatchListSemantics(pods, clients),
		Freed: make(chan struct{}, 1), filled: make(chan struct{}),
	}, nil
}

// NeedLeaderElection says that a standby follows the pods too.
func (*Tally) NeedLeaderElection() bool { return false }

// Start works until the context ends.
func (t *Tally) Start(ctx context.Context) error {
	cache.NewReflectorWithOptions(t.pods, &corev1.Pod{}, (*tallied)(t), cache.ReflectorOptions{Name: "pods on nodes"}).RunWithContext(ctx)
	return nil
}

// HasSynced says whether all pods are known.
func (t *Tally) HasSynced() bool {
	select {
	case <-t.filled:
		return true
	default:
		return false
	}
}

// Room returns which nodes of a snapshot have room for pods of a placement ("namespace/name") that ask for so much each. It waits until all
// pods are known.
func (t *Tally) Room(ctx context.Context, s *fleet.Snapshot, placement string, asks fleet.Amounts) (*fleet.Room, error) {
	select {
	case <-t.filled:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the pods of the cluster: %w", ctx.Err())
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return s.Room(placement, asks, &t.usage), nil
}

func (t *Tally) change(change func(*fleet.Usage) (freed bool)) {
	t.mu.Lock()
	freed := change(&t.usage)
	t.mu.Unlock()
	if !freed {
		return
	}
	select {
	case t.Freed <- struct{}{}:
	default:
	}
}

// tallied is a Tally as a reflector writes it.
type tallied Tally

// Transformer leaves of pods what is kept of them already while they are being listed.
func (*tallied) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		if pod, is := object.(*corev1.Pod); is {
			return fleet.Trimmed(pod), nil
		}
		return object, nil
	}
}

func (t *tallied) Add(object any) error {
	pod, is := object.(*corev1.Pod)
	if !is {
		return fmt.Errorf("tally of pods: got a %T", object)
	}
	(*Tally)(t).change(func(u *fleet.Usage) bool { return u.Set(pod) })
	return nil
}

func (t *tallied) Update(object any) error { return t.Add(object) }

func (t *tallied) Delete(object any) error {
	pod, is := object.(*corev1.Pod)
	if !is {
		return fmt.Errorf("tally of pods: got a %T", object)
	}
	(*Tally)(t).change(func(u *fleet.Usage) bool { return u.Remove(pod.UID) })
	return nil
}

func (t *tallied) Replace(objects []any, _ string) error {
	var usage fleet.Usage
	for _, object := range objects {
		if pod, is := object.(*corev1.Pod); is {
			usage.Set(pod)
		}
	}
	(*Tally)(t).change(func(u *fleet.Usage) bool { *u = usage; return true })
	t.once.Do(func() { close(t.filled) })
	return nil
}

func (*tallied) Resync() error { return nil }
