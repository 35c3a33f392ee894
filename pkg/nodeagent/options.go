package nodeagent

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent/dra"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// Defaults of the options.
const (
	DefaultRescanInterval = 5 * time.Minute
	DefaultLeaseNamespace = "rankwright-node-agent"
	DefaultNVIDIADriver   = "/proc/driver/nvidia/version"
)

// Options say what an agent works on. NodeName, Host and Log have no default.
type Options struct {
	// NodeName is the Node's metadata.name.
	NodeName string
	// Host opens the host to detect; it is called for every detection.
	Host func() (*host.Host, error)
	// Backends to run; nil means all.
	Backends []backend.Backend
	// BackendTimeout is the deadline of each backend; 0 means detect.DefaultDeadline.
	BackendTimeout time.Duration
	// RescanInterval is the time between detections; 0 means DefaultRescanInterval.
	RescanInterval time.Duration
	// Uevents has devices detected when the kernel tells of them, too; DevFolder is where the host's /dev is, to have them
	// detected when their nodes come and go, and empty where it is not to be watched.
	Uevents   bool
	DevFolder string
	// GPUErrors runs rankwright-nvml, to have devices detected when NVIDIA's driver tells of an error; nil where nothing may
	// be run.
	GPUErrors host.Streamer
	// NVIDIADriver is a file that is there while NVIDIA's driver is loaded, without which GPUErrors runs nothing; empty means
	// DefaultNVIDIADriver.
	NVIDIADriver string
	// PodResourcesSocket is the path of the kubelet's pod-resources API; empty where no kubelet is to be asked.
	PodResourcesSocket string
	// Pod is the agent's own pod; zero where it runs in none. A kubelet that does not list it does not know its pods yet.
	Pod podresources.Pod
	// LeaseNamespace holds the heartbeats; empty means DefaultLeaseNamespace.
	LeaseNamespace string
	// HealthAddress and MetricsAddress are where probes and metrics are served, host:port; empty or Disabled means nowhere.
	HealthAddress, MetricsAddress string
	// MetricsOpen serves metrics by HTTP to everybody, instead of by HTTPS to those whom RBAC lets get /metrics.
	MetricsOpen bool
	// Serving says which devices to serve to the kubelet, and where it is; nil means that none are served. Its Log, Clock,
	// Registry and Changed are the agent's.
	Serving *serving.Options
	// DRA says where devices that go through DRA are served; the rest of it is the agent's, and Serving's.
	DRA dra.Options
	// Version of the agent, published in the inventory.
	Version string
	// Log receives what the agent does.
	Log *slog.Logger
	// Clock tells the time; nil means the real one.
	Clock clock.Clock
}

// New prepares an agent that talks to the API server of the configuration. It makes no call.
func New(config *rest.Config, options Options) (*Agent, error) {
	options = options.withDefaults()
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	m, gate := newMetrics(options.NodeName, options.Version), newDriverGate()
	devices := &deviceHealth{monitor: gpuMonitor{why: "it is not installed beside the agent, or may run nothing (--no-exec)"}}
	a := &Agent{
		options: options, log: options.Log, clock: options.Clock, client: c, metrics: m, gate: gate,
		publisher: &publisher{client: c, node: options.NodeName, version: options.Version, clock: options.Clock, health: devices},
		events:    &eventRecorder{client: c, node: options.NodeName, clock: options.Clock, log: options.Log},
		rescan:    make(chan string, 1),
		changed:   make(chan struct{}, 1),
	}
	if options.Serving != nil && !options.Serving.Config.Empty() {
		plugin := a.newPlugin(*options.Serving)
		a.servers = servers{plugin}
		if options.Serving.Config.Uses(serving.DRA) {
			a.servers = append(a.servers, a.newDriver(options.DRA, plugin.Inject))
		}
	}
	if options.PodResourcesSocket == "" {
		return a, nil
	}
	a.kubelet, err = podresources.NewPoller(podresources.Options{
		Socket: options.PodResourcesSocket, Self: options.Pod, Clock: options.Clock,
		Changed: a.publishSoon, Asked: m.askedKubelet,
	})
	if err != nil {
		return nil, err
	}
	a.publisher.kubelet = kubeletView{
		state: a.kubelet.State, slices: sliceReader(c, options.NodeName), log: options.Log,
		admin: adminAccess{read: claimReader(c), log: options.Log},
	}
	if options.Serving != nil {
		a.publisher.kubelet.serves = options.Serving.Config.Serves
	}
	return a, nil
}

func (o Options) withDefaults() Options {
	o.BackendTimeout = cmp.Or(o.BackendTimeout, detect.DefaultDeadline)
	o.RescanInterval = cmp.Or(o.RescanInterval, DefaultRescanInterval)
	o.LeaseNamespace = cmp.Or(o.LeaseNamespace, DefaultLeaseNamespace)
	o.NVIDIADriver = cmp.Or(o.NVIDIADriver, DefaultNVIDIADriver)
	o.HealthAddress = cmp.Or(o.HealthAddress, Disabled)
	o.MetricsAddress = cmp.Or(o.MetricsAddress, Disabled)
	o.Clock = cmp.Or[clock.Clock](o.Clock, clock.RealClock{})
	return o
}
