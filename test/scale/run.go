package scale

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/calls"
)

// Options say how large the cluster is and what happens in it.
type Options struct {
	// Nodes have eight devices each, in five shapes.
	Nodes int
	// Placements arrive at once, after others that cannot be placed.
	Placements, Unplaceable int
	// Pods are bound to nodes, and the kubelet has reported them for devices.
	Pods int
	// Leases and Inventories are how many of each are written a second while placements are placed.
	Leases, Inventories int
	// Bare is how many placements' objects the bare client writes; 0 leaves it out.
	Bare int
	// Log takes a line for each step, and what it has come to every few seconds.
	Log io.Writer
	// Settle is how long a phase may take at most.
	Settle time.Duration
}

// Report is what was measured.
type Report struct {
	Options
	// Bare is placements a second of the bare client, Placed those of the operator.
	Bare, Placed Rate
	// Calls are the operator's requests while the placements were placed.
	Calls calls.Calls
	// Processor is the processor time of this process, of which the operator is the most, for each placement.
	Processor time.Duration
}

// run is a measurement that is under way.
type run struct {
	Options
	config *rest.Config
	client client.Client
	clock  func() time.Time
}

// Measure builds a cluster on the API server of a configuration with all rights, where Rankwright's kinds are installed, and measures an operator on it.
func Measure(ctx context.Context, config *rest.Config, options Options) (*Report, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	scheme, err := operator.Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	r := &run{Options: options, config: config, client: c, clock: time.Now}
	report := &Report{Options: options}
	for _, phase := range []struct {
		name string
		do   func(context.Context, *Report) error
	}{
		{fmt.Sprintf("%d nodes with inventories, %d pods", options.Nodes, options.Pods), r.build},
		{fmt.Sprintf("a bare client writes the objects of %d placements", options.Bare), r.bare},
		{fmt.Sprintf("%d placements, and %d that cannot be placed", options.Placements, options.Unplaceable), r.place},
	} {
		begun := r.clock()
		r.logf("%s", phase.name)
		if err := phase.do(ctx, report); err != nil {
			return report, fmt.Errorf("%s: %w", phase.name, err)
		}
		r.logf("  %.1f s", r.clock().Sub(begun).Seconds())
	}
	return report, nil
}

func (r *run) logf(format string, values ...any) {
	_, _ = fmt.Fprintf(r.Log, format+"\n", values...)
}
