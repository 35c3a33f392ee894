package dra

import (
	"cmp"
	"log/slog"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// Where drivers and kubelet meet by default. The kubelet calls the driver at a socket in the first, which has to have the
// same path for both, and finds the driver by a socket in the second.
const (
	DefaultFolder   = "/var/lib/kubelet/plugins/" + v1alpha1.DRADriver
	DefaultRegistry = "/var/lib/kubelet/plugins_registry"
)

// Options say what a driver works on. What is not said to have a default has none.
type Options struct {
	// Node is the Node's metadata.name.
	Node   string
	Config serving.Config
	// Client reads claims and writes ResourceSlices.
	Client dynamic.Interface
	// Folder and Registry are where kubelet and driver meet; empty means DefaultFolder and DefaultRegistry.
	Folder, Registry string
	// CDIFolder is where the container runtime reads CDI specifications.
	CDIFolder injection.Folder
	// Inject answers for granted devices.
	Inject serving.Inject
	// Allocated is called after each claim that was prepared or is done with, and Changed when Account says something else.
	// Neither may wait.
	Allocated, Changed func()
	// Metrics takes the metrics; nil means none.
	Metrics prometheus.Registerer
	Log     *slog.Logger
	// Clock tells the time; nil means the real one.
	Clock clock.Clock
}

func (o Options) withDefaults() Options {
	o.Folder = filepath.Clean(cmp.Or(o.Folder, DefaultFolder))
	o.Registry = filepath.Clean(cmp.Or(o.Registry, DefaultRegistry))
	o.Clock = cmp.Or[clock.Clock](o.Clock, clock.RealClock{})
	return o
}
