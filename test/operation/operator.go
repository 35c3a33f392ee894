package operation

import (
	"context"
	"sync"
	"testing"

	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/rankwright/rankwright/controllers/operator"
)

// Rights returns a configuration of the operator's service account, which has the rights that were applied for it and no others.
func (w *World) Rights() *rest.Config {
	w.Helper()
	config, err := w.Cluster.ConfigForUser("system:serviceaccount:"+Namespace+":rankwright-operator", "system:serviceaccounts")
	w.Must(err)
	return config
}

// RunOperator runs an operator without leader election until it is stopped or the test ends, which fails where the operator ends with
// an error.
func (w *World) RunOperator(config *rest.Config, options operator.Options) (stop func()) {
	w.Helper()
	options.Namespace, options.AgentNamespace = Namespace, AgentNamespace
	options.HealthAddress, options.MetricsAddress = "0", "0"
	if options.Registry == nil {
		options.Registry = prometheus.NewRegistry()
	}
	if testing.Verbose() {
		options.Log = testr.New(w.T)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	mgr, err := operator.New(ctx, config, options)
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
