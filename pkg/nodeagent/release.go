package nodeagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// ReleaseAnnotation on a Node has its agent let go of NVIDIA's driver, for a reset of a GPU or an upgrade by hand; its value
// is the reason, which the inventory tells.
const ReleaseAnnotation = v1alpha1.Prefix + "release-driver"

// releasingLabels are the values of a Node's labels at which whatever holds NVIDIA's driver has to let go of it: the driver
// cannot be unloaded, nor a GPU be reset for another MIG mode, while a process has its nodes open.
//
// Sources: the upgrade states of the GPU operator (NVIDIA/k8s-operator-libs, "GPU Driver Upgrades" of its documentation), and
// the states of NVIDIA's MIG manager ("MIG Manager" there).
var releasingLabels = map[string][]string{
	"nvidia.com/gpu-driver-upgrade-state": {"node-maintenance-required", "pod-deletion-required", "drain-required", "pod-restart-required"},
	"nvidia.com/mig.config.state":         {"pending", "rebooting"},
}

// releaseReason says why the driver has to be let go of; empty where it has not.
func releaseReason(labels, annotations map[string]string) string {
	if why, ok := annotations[ReleaseAnnotation]; ok {
		return fmt.Sprintf("annotation %s: %s", ReleaseAnnotation, cmp.Or(why, "no reason is given"))
	}
	for _, key := range slices.Sorted(maps.Keys(releasingLabels)) {
		if value := labels[key]; slices.Contains(releasingLabels[key], value) {
			return fmt.Sprintf("label %s=%s", key, value)
		}
	}
	return ""
}

// driverGate stands before tools that open NVIDIA's driver. While it is shut they are not run, and those that run are ended.
type driverGate struct {
	mu sync.Mutex
	// why says why it is shut; empty while it is open.
	why string
	// running ends with the next shutting; opened is closed by the next opening.
	running context.Context
	end     context.CancelFunc
	opened  chan struct{}
}

func newDriverGate() *driverGate {
	g := &driverGate{opened: make(chan struct{})}
	g.running, g.end = context.WithCancel(context.Background())
	return g
}

// set shuts the gate for a reason, or opens it where there is none, and says whether that is news.
func (g *driverGate) set(why string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if why == g.why {
		return false
	}
	wasShut := g.why != ""
	g.why = why
	switch {
	case why == "":
		g.running, g.end = context.WithCancel(context.Background())
		close(g.opened)
	case !wasShut:
		g.opened = make(chan struct{})
		g.end()
	}
	return true
}

// state returns why the gate is shut, what ends when it shuts, and what is closed when it opens.
func (g *driverGate) state() (why string, running context.Context, opened <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.why, g.running, g.opened
}

// enter returns a context for a tool, which ends with the given one and when the gate shuts. Tools of other drivers pass.
func (g *driverGate) enter(ctx context.Context, argv []string) (context.Context, context.CancelFunc, error) {
	if len(argv) == 0 || !slices.Contains(nvidiaTools, argv[0]) {
		return ctx, func() {}, nil
	}
	why, running, _ := g.state()
	if why != "" {
		return nil, nil, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), errReleased, why)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(running, cancel)
	return ctx, func() { stop(); cancel() }, nil
}

const nvidiaVendor = "nvidia"

// nvidiaTools open NVIDIA's driver.
var nvidiaTools = []string{"rankwright-nvml", "rankwright-cdi", "nvidia-smi"}

var errReleased = errors.New("NVIDIA's driver is let go of, so that it can be changed")

// gatedCommands run tools as far as the gate lets them.
type gatedCommands struct {
	commands host.Commands
	gate     *driverGate
}

// Run implements detect.Commands.
func (c gatedCommands) Run(ctx context.Context, argv ...string) (host.CommandResult, error) {
	ctx, leave, err := c.gate.enter(ctx, argv)
	if err != nil {
		return host.CommandResult{}, err
	}
	defer leave()
	return c.commands.Run(ctx, argv...)
}

// guard has the tools of a host pass the gate.
func (g *driverGate) guard(h *host.Host) *host.Host {
	if h.Commands == nil {
		return h
	}
	return &host.Host{Files: h.Files, Commands: gatedCommands{h.Commands, g}}
}

// nodeChanged shuts or opens the gate by what the Node says, and then has devices detected: without NVIDIA's driver, or with it
// again.
func (a *Agent) nodeChanged(node *unstructured.Unstructured) {
	why := releaseReason(node.GetLabels(), node.GetAnnotations())
	if a.gate.set(why) {
		a.rescanFor(triggerDriver)
	}
	a.publishSoon()
}
