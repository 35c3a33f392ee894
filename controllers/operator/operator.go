// Package operator puts the operator together: manager, ledger, controller, heartbeat and sweeper.
package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/binding"
	"github.com/rankwright/rankwright/controllers/claims"
	"github.com/rankwright/rankwright/controllers/cordon"
	"github.com/rankwright/rankwright/controllers/drain"
	"github.com/rankwright/rankwright/controllers/figures"
	"github.com/rankwright/rankwright/controllers/files"
	"github.com/rankwright/rankwright/controllers/heartbeat"
	"github.com/rankwright/rankwright/controllers/history"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/meshes"
	"github.com/rankwright/rankwright/controllers/notes"
	"github.com/rankwright/rankwright/controllers/observed"
	"github.com/rankwright/rankwright/controllers/placement"
	"github.com/rankwright/rankwright/controllers/readiness"
	"github.com/rankwright/rankwright/controllers/relation"
	"github.com/rankwright/rankwright/controllers/repair"
	"github.com/rankwright/rankwright/controllers/slots"
	"github.com/rankwright/rankwright/controllers/snapshot"
	"github.com/rankwright/rankwright/controllers/verification"
)

// Options are the settings of an operator.
type Options struct {
	// Namespace of the ledger and of the leader election's Lease.
	Namespace string
	// AgentNamespace is where the node agents' Leases are.
	AgentNamespace string
	// LeaderElect lets one of several operators work. It spares them from competing; the ledger keeps them safe.
	LeaderElect bool
	// HealthAddress serves /healthz, and /readyz, which names the informers that are not filled yet; "0" serves neither.
	HealthAddress string
	// MetricsOpen serves metrics by HTTP to everybody, instead of by HTTPS to those whom RBAC lets get /metrics.
	MetricsOpen bool
	// MetricsAddress serves /metrics; "0" does not.
	MetricsAddress string
	// Webhook serves the webhook of pods; nil serves none.
	Webhook *Webhook
	// VerifierImage is the node agent's image, which the init container that verifies meshes runs; empty verifies none.
	VerifierImage string
	// Tenants say what the placements of a namespace may have.
	Tenants placement.Tenants
	// Repairs says what becomes of devices with a fault; nil leaves them alone.
	Repairs *repair.Settings
	// Log takes what the operator says.
	Log logr.Logger

	// Now is the clock; nil means the machine's.
	Now func() time.Time
	// Housekeeping is how often agents are listened for and leftovers are looked for; 0 means every minute.
	Housekeeping time.Duration
	// Comparing is how often plans in force are compared with fresh ones; 0 means every five minutes.
	Comparing time.Duration
	// Observing is how often the metrics of engines are read; 0 means that they are not.
	Observing time.Duration
	// Get reads what is at an address of a pod; nil means by HTTP.
	Get func(ctx context.Context, address string) ([]byte, error)
	// Planner makes plans; nil means this product's.
	Planner placement.Planner
	// Wrap, if set, stands before every write: a test ends an operator there.
	Wrap func(client.WithWatch) client.WithWatch
	// Traces is the URL of a collector that takes OpenTelemetry's spans by OTLP over gRPC, such as http://collector.monitoring:4317; empty sends none.
	Traces string
	// Registry takes the metrics; nil means the one that MetricsAddress serves.
	Registry prometheus.Registerer

	// severalInProcess says that the registry is the caller's, who may run several operators.
	severalInProcess bool
}

// name is the name of the leader election's Lease and of the reporter of events.
const name = "rankwright-operator"

// housekeepingPeriod is how often agents are listened for and leftovers are looked for unless Options say otherwise.
const housekeepingPeriod = time.Minute

// comparingPeriod is how often plans in force are compared with fresh ones unless Options say otherwise.
const comparingPeriod = 5 * time.Minute

// Scheme knows the kinds that an operator reads and writes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("scheme: %w", err)
	}
	return scheme, nil
}

// New makes an operator, to be run by Start.
func New(ctx context.Context, cfg *rest.Config, options Options) (manager.Manager, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Registry == nil {
		options.Registry = metrics.Registry
	} else {
		options.severalInProcess = true
	}
	mgr, err := newManager(cfg, options)
	if err != nil {
		return nil, err
	}
	direct, err := newClient(mgr, options, nil)
	if err != nil {
		return nil, err
	}
	named := &relation.Named{Reader: mgr.GetCache(), Scheme: mgr.GetScheme()}
	cached, err := newClient(mgr, options, named)
	if err != nil {
		return nil, err
	}
	monitor := &heartbeat.Monitor{Reader: mgr.GetAPIReader(), Namespace: options.AgentNamespace, Now: options.Now}
	heard, err := heartbeat.NewWatch(mgr.GetConfig(), monitor)
	if err != nil {
		return nil, err
	}
	steps, err := newRecorder(ctx, mgr, options)
	if err != nil {
		return nil, err
	}
	reconciler, err := newReconciler(mgr, direct, cached, options)
	if err != nil {
		return nil, err
	}
	reconciler.Course = steps
	reconciler.Index = &snapshot.Index{Cache: mgr.GetCache(), Reader: direct, Silent: monitor.Silent}
	if reconciler.Tally, err = snapshot.NewTally(mgr.GetConfig()); err != nil {
		return nil, err
	}
	reconciler.History = &history.Keeper{Client: cached, Reader: direct}
	reconciler.Readiness = &readiness.Reconciler{Client: cached, Events: reconciler.Events, Now: time.Now}
	woken := make(chan event.GenericEvent)
	slotted := &slots.Reconciler{Client: cached, Events: reconciler.Events}
	follower := meshes.Follower{Client: cached, Events: reconciler.Events, Now: options.Now}
	claimed := &claims.Reconciler{Follower: follower}
	bound := &binding.Reconciler{Client: cached, Index: reconciler.Index, Events: reconciler.Events, Course: steps, Now: options.Now}
	for _, controller := range []struct {
		of    string
		setup func(ctrl.Manager) error
	}{
		{"placements", func(mgr ctrl.Manager) error { return reconciler.Setup(ctx, mgr, woken) }},
		{"slots", func(mgr ctrl.Manager) error { return slotted.Setup(ctx, mgr) }},
		{"launchers' files", (&files.Reconciler{Follower: follower, Reader: direct}).Setup},
		{"claims", func(mgr ctrl.Manager) error {
			var err error
			if bound.Claims, err = claimed.Setup(mgr); err == nil && !bound.Claims {
				options.Log.Info("the cluster has no ResourceClaims of resource.k8s.io/v1: placements cannot be enforced by Claim")
			}
			return err
		}},
		{"cordons", (&cordon.Keeper{Inventories: mgr.GetCache(), Reader: mgr.GetAPIReader(), Writer: direct, Namespace: options.Namespace}).Setup},
		{"binding", bound.Setup},
		{"drains", (&drain.Reconciler{Client: cached, Reader: direct, Events: reconciler.Events, Now: options.Now}).Setup},
		{"history", (&history.Reconciler{Keeper: reconciler.History}).Setup},
		{"readiness", reconciler.Readiness.Setup},
		{"verification", (&verification.Reconciler{Follower: follower, Course: steps}).Setup},
	} {
		if err := controller.setup(mgr); err != nil {
			return nil, fmt.Errorf("controller of %s: %w", controller.of, err)
		}
	}
	if err := setUpRepairs(ctx, mgr, direct, cached, &repair.Reconciler{
		Settings: options.Repairs, Silent: monitor.Silent, Events: reconciler.Events, Now: options.Now,
	}, options); err != nil {
		return nil, fmt.Errorf("controller of repairs: %w", err)
	}
	if options.Webhook != nil {
		if err := options.Webhook.setup(mgr, direct, options); err != nil {
			return nil, err
		}
	}
	period := cmp.Or(options.Housekeeping, housekeepingPeriod)
	err = errors.Join(
		mgr.Add(reconciler.Tally),
		mgr.Add(&compactor{reconciler.Ledger, options.Log}),
		mgr.Add(&housekeeper{sweep: reconciler.Sweep, period: period, log: options.Log}),
		mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
			return reconciler.Compare(ctx, cmp.Or(options.Comparing, comparingPeriod))
		})),
		mgr.Add(heard),
		mgr.Add(&listener{monitor: monitor, elected: mgr.Elected(), wake: woken, period: period, log: options.Log}),
	)
	if options.Observing > 0 {
		err = errors.Join(err, mgr.Add(&observed.Observer{
			Client: cached, Get: getter(options.Get), Site: reconciler.Site, Events: reconciler.Events, Now: options.Now, Every: options.Observing, Log: options.Log,
		}))
	}
	if err != nil {
		return nil, fmt.Errorf("housekeeping: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	return mgr, warm(ctx, mgr, named, reconciler.Tally, bound.Claims)
}

// newManager makes the manager. Election leaves by releasing the Lease, which is safe because reservations are fenced.
func newManager(cfg *rest.Config, options Options) (manager.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	caches, err := cacheOptions()
	if err != nil {
		return nil, err
	}
	counted, err := countRequests(options.Registry, cfg)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(counted, ctrl.Options{
		Scheme:                        scheme,
		Logger:                        options.Log,
		Cache:                         caches,
		Controller:                    config.Controller{SkipNameValidation: &options.severalInProcess},
		LeaderElection:                options.LeaderElect,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       options.Namespace,
		LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress:        options.HealthAddress,
		Metrics:                       metricsOptions(options),
	})
	if err != nil {
		return nil, fmt.Errorf("manager: %w", err)
	}
	return mgr, nil
}

func newReconciler(mgr manager.Manager, direct, cached client.Client, options Options) (*placement.Reconciler, error) {
	if options.Planner == nil {
		options.Planner = placement.DefaultPlanner
	}
	counted, err := placement.NewMetrics(options.Registry)
	told, unpriced := figures.New(mgr.GetCache())
	if err := errors.Join(err, unpriced, options.Registry.Register(told), options.Registry.Register(verification.Metrics{Cache: mgr.GetCache()})); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return &placement.Reconciler{
		Client:  cached,
		Reader:  direct,
		Ledger:  &ledger.Ledger{Reader: direct, Writer: direct, Namespace: options.Namespace, Now: options.Now},
		Planner: options.Planner,
		Tenants: options.Tenants,
		Events:  notes.Recorder{EventRecorder: mgr.GetEventRecorder(name)},
		Metrics: counted,
		Now:     options.Now,
	}, nil
}

// newClient makes a client that writes to the API server, and reads from a cache where one is given.
func newClient(mgr manager.Manager, options Options, reader client.Reader) (client.WithWatch, error) {
	made, err := client.NewWithWatch(mgr.GetConfig(), client.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(), Cache: &client.CacheOptions{Reader: reader},
	})
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if options.Wrap != nil {
		made = options.Wrap(made)
	}
	return made, nil
}
