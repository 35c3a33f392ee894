package scale

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// Options say how large the cluster is and what happens in it.
type Options struct {
	// Nodes have eight devices each, in five shapes.
	Nodes int
	// Placements arrive at once, after others that cannot be placed.
	Placements, Unplaceable int
	// Pods are bound to nodes, and the kubelet has reported them for devices.
	Pods int
	// Leases and Inventories are how many of each are written a second from when placements are placed under load.
	Leases, Inventories int
	// Bare is for how many placements a bare client writes what the operator wrote for them; 0 leaves it out.
	Bare int
	// Single is how many placements are made one after the other, and how many that cannot be placed.
	Single int
	// Webhook is how many pods are made of placements, and as many of none.
	Webhook int
	// NotReady is how many nodes are not ready at once.
	NotReady int
	// Rest is for how long the operator's calls are counted while only Leases and inventories are written.
	Rest time.Duration
	// Operator says how operators run.
	Operator OperatorOptions
	// Log takes a line for each step, and what it has come to every few seconds.
	Log io.Writer
	// Settle is how long a phase may take at most.
	Settle time.Duration
}

// run is a measurement that is under way.
type run struct {
	*Cluster
	Options
	report   *Report
	operator *Operator
	follower *Follower
	// copies are what the operator wrote for the first placements.
	copies []written
	// peak is the most memory that an operator took which has ended, in KiB.
	peak int64
	// churn writes Leases and inventories; nil where nothing does.
	churn *Churn
}

// phases are in the order in which they are measured. A phase of none of what it is about is left out. Each has its own profile of the
// operator.
var phases = []struct {
	profile string
	name    string
	count   func(*Options) int
	do      func(*run, context.Context) error
}{
	{"build", "nodes are made with inventories and pods", func(o *Options) int { return o.Nodes }, (*run).build},
	{"start", "nodes are read by an operator that starts", func(o *Options) int { return o.Nodes }, (*run).begin},
	{"quiet", "placements at once, and nothing else", func(o *Options) int { return o.Placements }, (*run).placeQuiet},
	{"bare", "placements' objects are written by a bare client", func(o *Options) int { return min(o.Bare, o.Placements) }, (*run).bare},
	{"loaded", "placements at once, while Leases and inventories are written", func(o *Options) int { return o.Placements }, (*run).placeLoaded},
	{"rest", "seconds at rest", func(o *Options) int { return int(o.Rest.Seconds()) }, (*run).rest},
	{"alone", "placements alone", func(o *Options) int { return o.Single }, (*run).alone},
	{"refusals", "refusals", func(o *Options) int { return o.Single }, (*run).refusals},
	{"webhook", "pods of placements, and as many of none", func(o *Options) int { return o.webhookPods() }, (*run).webhook},
	{"not-ready", "nodes not ready at once", func(o *Options) int { return o.NotReady }, (*run).notReady},
	{"restart", "starts of an operator", func(*Options) int { return 2 }, (*run).restart},
	{"deletion", "placements deleted at once", func(o *Options) int { return o.Placements }, (*run).deletion},
}

// Measure builds a cluster on the API server of a configuration with all rights, where Rankwright's kinds are installed, and measures an
// operator on it. The program has to begin with Child.
func Measure(ctx context.Context, config *rest.Config, options Options) (*Report, error) {
	cluster, err := New(config, options.Nodes, options.Log)
	if err != nil {
		return nil, err
	}
	r := &run{Cluster: cluster, Options: options, report: &Report{Options: options}}
	defer r.end()
	for _, phase := range phases {
		count := phase.count(&r.Options)
		if count == 0 {
			continue
		}
		begun := r.clock()
		r.logf("%d %s", count, phase.name)
		r.Operator.Phase = phase.profile
		if r.operator != nil {
			if err := r.operator.next(ctx, phase.profile); err != nil {
				return r.report, err
			}
		}
		if err := r.within(ctx, phase.do); err != nil {
			return r.report, fmt.Errorf("%d %s: %w", count, phase.name, err)
		}
		r.logf("  %.1f s", r.clock().Sub(begun).Seconds())
	}
	return r.report, nil
}

func (r *run) within(ctx context.Context, do func(*run, context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Settle, fmt.Errorf("it took more than %s", r.Settle))
	defer cancel()
	return do(r, ctx)
}

// build makes the cluster.
func (r *run) build(ctx context.Context) error {
	if err := r.Install(ctx); err != nil {
		return err
	}
	if err := r.installWebhook(ctx); err != nil {
		return err
	}
	return r.Build(ctx, r.Pods)
}

// begin starts the operator.
func (r *run) begin(ctx context.Context) (err error) {
	begun := r.clock()
	if err := r.start(ctx); err != nil {
		return err
	}
	r.report.add("first start until the operator knows the cluster", seconds(r.clock().Sub(begun)))
	r.follower, err = r.Follow(context.WithoutCancel(ctx))
	return err
}

// start starts an operator, and returns when it knows the cluster.
func (r *run) start(ctx context.Context) (err error) {
	if r.operator, err = r.StartOperator(ctx, r.Operator); err != nil {
		return err
	}
	return r.operator.AwaitReady(ctx)
}

// end leaves nothing running.
func (r *run) end() {
	r.churn.Stop()
	if r.follower != nil {
		r.follower.Stop()
	}
	if r.operator != nil {
		r.operator.End()
	}
}

// used is what the operator used while something was done.
func (r *run) used(ctx context.Context, do func() error) (Figures, error) {
	before, err := r.operator.Figures(ctx)
	if err != nil {
		return Figures{}, err
	}
	if err := do(); err != nil {
		return Figures{}, err
	}
	after, err := r.operator.Figures(ctx)
	if err != nil {
		return Figures{}, err
	}
	return after.Since(&before), nil
}

// ofSeries says of a placement whether it is of a series.
func ofSeries(series string) func(Followed) bool {
	return func(f Followed) bool { return strings.TrimRight(f.Now.Name, "0123456789") == series }
}
