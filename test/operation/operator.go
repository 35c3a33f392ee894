package operation

import (
	"context"
	"sync"
	"testing"

	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/controlplane"
)

// Rights returns a configuration of the operator's service account, which has the rights that were applied for it and no others.
func (w *World) Rights() *rest.Config {
	w.Helper()
	config, err := w.Cluster.ConfigForUser("system:serviceaccount:"+Namespace+":rankwright-operator", "system:serviceaccounts")
	w.Must(err)
	if w.Transport != nil {
		config.Wrap(w.Transport)
	}
	return config
}

// Confine applies the rights of operator and agents and all admission policies, and returns when they are in force, which is a moment
// later.
func (w *World) Confine() {
	w.Helper()
	objects, err := controlplane.ReadConfig("rbac", "admission")
	w.Must(err)
	w.Must(controlplane.Apply(w.Context(), w.Cluster.Config(), "", objects...))
	w.Must(w.Cluster.AwaitPolicies(w.Context()))
	c, err := client.New(w.Rights(), client.Options{})
	w.Must(err)
	stolen := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: "stolen"}}
	w.Eventually("the operator has its rights", func(ctx context.Context) bool {
		return apierrors.IsInvalid(c.Create(ctx, stolen.DeepCopy(), client.DryRunAll))
	})
}

// RunOperator runs an operator without leader election, confined as it is installed, until it is stopped or the test ends, which fails where
// the operator ends with an error. It plans with Unhurried unless the options say otherwise.
func (w *World) RunOperator(options operator.Options) (stop func()) {
	w.Helper()
	w.Confine()
	options.Namespace, options.AgentNamespace = Namespace, AgentNamespace
	options.HealthAddress, options.MetricsAddress = "0", "0"
	if options.Planner == nil {
		options.Planner = Unhurried
	}
	if options.Registry == nil {
		options.Registry = prometheus.NewRegistry()
	}
	if testing.Verbose() {
		options.Log = testr.New(w.T)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	mgr, err := operator.New(ctx, w.Rights(), options)
	w.Must(err)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the operator ended with: %v", err)
		}
	})
	w.Cleanup(stop)
	return stop
}
