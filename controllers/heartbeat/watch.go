package heartbeat

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Watch has a Monitor follow the Leases of its namespace until the context ends. Of a Lease nothing is kept but what judging takes.
type Watch struct {
	Monitor *Monitor
	leases  cache.ListerWatcher
}

// NewWatch returns a Watch of a cluster, to be run by Start. The typed client asks for protobuf.
func NewWatch(config *rest.Config, of *Monitor) (*Watch, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of leases: %w", err)
	}
	leases := clients.CoordinationV1().Leases(of.Namespace)
	return &Watch{of, cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return leases.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return leases.Watch(ctx, options)
		},
	}, clients)}, nil
}

// NeedLeaderElection says that a standby follows the Leases too.
func (*Watch) NeedLeaderElection() bool { return false }

// Start works until the context ends.
func (w *Watch) Start(ctx context.Context) error {
	cache.NewReflectorWithOptions(w.leases, &coordinationv1.Lease{}, (*beats)(w.Monitor), cache.ReflectorOptions{Name: "leases of agents"}).RunWithContext(ctx)
	return nil
}

// beats is a Monitor as a reflector writes it.
type beats Monitor

func (b *beats) Add(object any) error {
	lease, is := object.(*coordinationv1.Lease)
	if !is {
		return fmt.Errorf("leases of agents: got a %T", object)
	}
	(*Monitor)(b).set(lease)
	return nil
}

func (b *beats) Update(object any) error { return b.Add(object) }

func (b *beats) Delete(object any) error {
	lease, is := object.(*coordinationv1.Lease)
	if !is {
		return fmt.Errorf("leases of agents: got a %T", object)
	}
	(*Monitor)(b).remove(lease.Name)
	return nil
}

func (b *beats) Replace(objects []any, _ string) error {
	var leases []*coordinationv1.Lease
	for _, object := range objects {
		if lease, is := object.(*coordinationv1.Lease); is {
			leases = append(leases, lease)
		}
	}
	(*Monitor)(b).replace(leases)
	return nil
}

func (*beats) Resync() error { return nil }
