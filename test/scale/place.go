package scale

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/calls"
)

func quantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }

// Rate is how many placements were brought into force in what time, and what the last tenth of them took.
type Rate struct {
	Count     int
	All, Last time.Duration
}

// PerSecond is the mean of all.
func (r Rate) PerSecond() float64 { return float64(r.Count) / r.All.Seconds() }

// LastPerSecond is the mean of the last tenth.
func (r Rate) LastPerSecond() float64 { return float64(max(1, r.Count/10)) / r.Last.Seconds() }

// rateOf is the rate of moments since a beginning, in order.
func rateOf(moments []time.Duration) Rate {
	n := len(moments)
	if n == 0 {
		return Rate{}
	}
	last := max(1, n/10)
	before := time.Duration(0)
	if n > last {
		before = moments[n-last-1]
	}
	return Rate{Count: n, All: moments[n-1], Last: moments[n-1] - before}
}

// models are what placements ask for, in turn: one device, two, and a tensor group of four.
var models = []struct {
	name   string
	tensor int32
}{{"Llama-3.1-8B", 1}, {"Qwen2.5-32B", 2}, {"Llama-3.1-70B", 4}}

// placement is the number-th one; it cannot be placed where it is too large.
func placementOf(number int, fits bool) *v1alpha1.ModelPlacement {
	of := models[number%len(models)]
	p := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: fmt.Sprintf("p%05d", number)}}
	p.Spec = v1alpha1.ModelPlacementSpec{
		Model:       v1alpha1.ModelSource{Name: &of.name},
		Workload:    v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 4096, MaxSequences: 8}},
		Parallelism: &v1alpha1.Parallelism{Tensor: &of.tensor},
	}
	if !fits {
		p.Name = fmt.Sprintf("no%05d", number)
		p.Spec.Devices = &v1alpha1.DeviceRequirements{Products: []string{"NVIDIA GB300"}}
		if number%10 == 0 { // dear to refuse: every shape on every device is looked at
			p.Spec.Devices, p.Spec.Parallelism, p.Spec.Replicas = nil, nil, ptr.To(int32(1024))
			p.Spec.Model.Name = ptr.To("Llama-3.1-405B")
			p.Spec.Workload.Inference.MaxTPOTMillis = ptr.To(int32(1))
		}
	}
	return p
}

// start runs an operator in this process whose requests are counted, until the context ends.
func (r *run) start(ctx context.Context) (*calls.Counter, <-chan error, error) {
	count := &calls.Counter{}
	config := rest.CopyConfig(r.config)
	config.Wrap(count.Wrap)
	mgr, err := operator.New(ctx, config, operator.Options{
		Namespace: operatorHome, AgentNamespace: agentNamespace, HealthAddress: "0", MetricsAddress: "0", Registry: prometheus.NewRegistry(), Log: logr.Discard(),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("operator: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return count, ended, nil
}

// place runs the operator, makes the placements at once, and waits until all that fit have a mesh.
func (r *run) place(ctx context.Context, report *Report) (err error) {
	ctx, cancel := context.WithTimeout(ctx, r.Settle)
	count, ended, err := r.start(ctx)
	if err != nil {
		cancel()
		return err
	}
	stopChurn := r.churn(ctx)
	defer func() {
		stopChurn()
		cancel()
		err = errors.Join(err, <-ended)
	}()
	if err := r.parallel(ctx, "that cannot be placed", writers, r.Unplaceable, func(ctx context.Context, i int) error { return r.client.Create(ctx, placementOf(i, false)) }); err != nil {
		return err
	}
	before, processor, begun := count.Calls(), processorTime(), r.clock()
	placed, err := r.awaitPlaced(ctx, begun, r.Placements, func(ctx context.Context) error {
		return r.parallel(ctx, "placements made", writers, r.Placements, func(ctx context.Context, i int) error { return r.client.Create(ctx, placementOf(i, true)) })
	})
	report.Placed = rateOf(placed)
	report.Processor = (processorTime() - processor) / time.Duration(max(1, len(placed)))
	r.awaitQuiet(ctx, count)
	report.Calls = count.Calls().Since(before)
	return err
}

// awaitQuiet waits until the operator has written nothing for a while: what it says of pods follows what it says of plans.
func (r *run) awaitQuiet(ctx context.Context, count *calls.Counter) {
	const still, most = time.Second, 10
	written := int64(-1)
	for range most {
		now := count.Calls().Writes().Sum().Requests
		if now == written {
			return
		}
		written = now
		select {
		case <-time.After(still):
		case <-ctx.Done():
			return
		}
	}
}

// awaitPlaced watches placements while something makes them, and returns when each that was placed was, in order.
func (r *run) awaitPlaced(ctx context.Context, begun time.Time, want int, do func(context.Context) error) ([]time.Duration, error) {
	watching, err := client.NewWithWatch(r.config, client.Options{Scheme: r.client.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	// A watch that begins anew begins with all that there is.
	watch, err := watching.Watch(ctx, &v1alpha1.ModelPlacementList{}, client.InNamespace(home))
	if err != nil {
		return nil, fmt.Errorf("watch placements: %w", err)
	}
	defer func() { watch.Stop() }()
	var made sync.WaitGroup
	failed := make(chan error, 1)
	made.Go(func() { failed <- do(ctx) })
	defer made.Wait()
	var placed []time.Duration
	seen := map[string]bool{}
	last := begun
	for len(placed) < want {
		select {
		case event, open := <-watch.ResultChan():
			if !open {
				if watch, err = watching.Watch(ctx, &v1alpha1.ModelPlacementList{}, client.InNamespace(home)); err != nil {
					return placed, fmt.Errorf("watch placements: %w", err)
				}
				continue
			}
			p, is := event.Object.(*v1alpha1.ModelPlacement)
			if !is || seen[p.Name] || p.Status.Mesh == "" || !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionPlaced) {
				continue
			}
			seen[p.Name] = true
			now := r.clock()
			placed = append(placed, now.Sub(begun))
			if now.Sub(last) > 5*time.Second {
				r.logf("  %d of %d placed after %.0f s", len(placed), want, now.Sub(begun).Seconds())
				last = now
			}
		case err := <-failed:
			if err != nil {
				return placed, err
			}
		case <-ctx.Done():
			return placed, fmt.Errorf("%d of %d were placed within %s: %w", len(placed), want, r.Settle, ctx.Err())
		}
	}
	return placed, nil
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
