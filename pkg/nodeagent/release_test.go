//go:build linux

package nodeagent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

func TestReleaseReason(t *testing.T) {
	const upgrade, mig = "nvidia.com/gpu-driver-upgrade-state", "nvidia.com/mig.config.state"
	tests := map[string]struct {
		labels, annotations map[string]string
		want                string
	}{
		"nothing":                  {nil, nil, ""},
		"other labels":             {map[string]string{"nvidia.com/gpu.count": "8"}, map[string]string{"a": "b"}, ""},
		"an upgrade is due":        {map[string]string{upgrade: "upgrade-required"}, nil, ""},
		"jobs may end":             {map[string]string{upgrade: "wait-for-jobs-required"}, nil, ""},
		"pods are deleted":         {map[string]string{upgrade: "pod-deletion-required"}, nil, "label nvidia.com/gpu-driver-upgrade-state=pod-deletion-required"},
		"the driver restarts":      {map[string]string{upgrade: "pod-restart-required"}, nil, "label nvidia.com/gpu-driver-upgrade-state=pod-restart-required"},
		"the new one is validated": {map[string]string{upgrade: "validation-required"}, nil, ""},
		"upgraded":                 {map[string]string{upgrade: "upgrade-done"}, nil, ""},
		"MIG is configured":        {map[string]string{mig: "pending", "nvidia.com/mig.config": "all-1g.10gb"}, nil, "label nvidia.com/mig.config.state=pending"},
		"MIG is configured so":     {map[string]string{mig: "success"}, nil, ""},
		"by hand":                  {nil, map[string]string{ReleaseAnnotation: "reset of GPU 3"}, "annotation rankwright.dev/release-driver: reset of GPU 3"},
		"by hand, in silence":      {nil, map[string]string{ReleaseAnnotation: ""}, "annotation rankwright.dev/release-driver: no reason is given"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := releaseReason(test.labels, test.annotations); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// While the driver is let go of, the program that watches it has ended, and none is started; then it is started again at once.
func TestGPUErrorsLetGoOfTheDriver(t *testing.T) {
	gate := newDriverGate()
	states := make(chan monitorState, 10)
	whys := make(chan string, 10)
	source := (&gpuErrors{
		tools: monitor{lines: []string{`{"type":"Watching"}`}}, driver: os.DevNull, gate: gate, clock: testingclock.NewFakeClock(later.Time), log: slog.New(slog.DiscardHandler),
		seen: func(report.Event) {}, state: func(state monitorState, why string) { states <- state; whys <- why },
	}).run
	watched(t, source)
	expect := func(want monitorState) (why string) {
		t.Helper()
		if got := <-states; got != want {
			t.Fatalf("state %d, want %d", got, want)
		}
		return <-whys
	}
	for range 2 {
		expect(monitorStarting)
		expect(monitorWatching)
		if !gate.set("a reset") || gate.set("a reset") {
			t.Error("the same reason twice is news")
		}
		if why := expect(monitorFailed); why != "it lets go of the driver: a reset" {
			t.Errorf("why: %q", why)
		}
		gate.set("another reset")
		gate.set("")
	}
	expect(monitorStarting)
}

// endless is a host whose tools answer when their context ends.
type endless struct{ started chan struct{} }

// Run implements detect.Commands.
func (e endless) Run(ctx context.Context, _ ...string) (host.CommandResult, error) {
	e.started <- struct{}{}
	<-ctx.Done()
	return host.CommandResult{}, ctx.Err()
}

func TestGateEndsWhatRuns(t *testing.T) {
	gate := newDriverGate()
	tools := endless{make(chan struct{})}
	h := gate.guard(&host.Host{Commands: tools})
	ended := make(chan error, 1)
	go func() {
		_, err := h.Commands.Run(context.Background(), "rankwright-nvml", "query")
		ended <- err
	}()
	<-tools.started
	gate.set("a reset")
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("what ran when the gate was shut: %v", err)
	}
	for _, argv := range [][]string{{"nvidia-smi", "-L"}, {"rankwright-cdi", "generate"}} {
		if _, err := h.Commands.Run(t.Context(), argv...); !errors.Is(err, errReleased) {
			t.Errorf("%q while it is shut: %v", argv, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-tools.started; cancel() }()
	if _, err := h.Commands.Run(ctx, "neuron-ls", "-j"); !errors.Is(err, context.Canceled) {
		t.Errorf("another driver's tool: %v", err)
	}
}

func TestGateWithoutTools(t *testing.T) {
	if h := newDriverGate().guard(&host.Host{}); h.Commands != nil {
		t.Errorf("%+v: nothing may be run there", h)
	}
}
