package serving

import (
	"cmp"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Where the kubelet has its sockets (pkg/kubelet/apis/podresources/constants.go for the second).
const (
	DefaultFolder       = pluginapi.DevicePluginPath
	DefaultPodResources = "/var/lib/kubelet/pod-resources/kubelet.sock"
)

// Options say what a plugin works on. Config and Log have no default.
type Options struct {
	Config Config
	// Folder is where device plugins meet the kubelet; empty means DefaultFolder.
	Folder string
	// PodResources is the socket at which the kubelet says who holds what; empty means DefaultPodResources.
	PodResources string
	// Host opens the node, whose file tree tells what its devices need beside their own nodes; nil knows of nothing.
	Host func() (*host.Host, error)
	// Group tells the group that owns a file of the node; nil where nobody knows.
	Group func(name string) (gid uint32, err error)
	// Commands runs rankwright-cdi, with the right to make device nodes; nil where nothing may be run.
	Commands host.Commands
	// Hook is the path on the node of the program that its container runtime runs for NVIDIA's devices; empty means that it is
	// looked for.
	Hook string
	// Installed are files for containers that were put on the node with the agent; they go when that is uninstalled.
	Installed []string
	// CDIFolder is where the container runtime reads CDI specifications; empty where none are to be written.
	CDIFolder string
	// Inject answers for granted devices; nil means what the configuration says.
	Inject Inject
	// Allocated is called after each Allocate, and Changed when Services or Condition say something else. Neither may wait.
	Allocated, Changed func()
	// Registry takes the metrics; nil means none.
	Registry prometheus.Registerer
	Log      *slog.Logger
	// Clock tells the time; nil means the real one.
	Clock clock.Clock
}

func (o Options) withDefaults() Options {
	o.Folder = strings.TrimRight(cmp.Or(o.Folder, DefaultFolder), "/")
	o.PodResources = cmp.Or(o.PodResources, DefaultPodResources)
	if o.Allocated == nil {
		o.Allocated = func() {}
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	o.Clock = cmp.Or[clock.Clock](o.Clock, clock.RealClock{})
	return o
}
