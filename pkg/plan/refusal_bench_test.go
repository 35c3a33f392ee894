package plan_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// BenchmarkScaleReason says why what does not fit is refused, which the operator waits for.
func BenchmarkScaleReason(b *testing.B) {
	benchmarkRefusals(b, func(*plan.Unplaceable) int { return 0 })
}

// BenchmarkScaleRefusal refuses what does not fit, each with its suggestions.
func BenchmarkScaleRefusal(b *testing.B) {
	benchmarkRefusals(b, func(no *plan.Unplaceable) int {
		var advised *plan.Unplaceable
		if !errors.As(no.Advised(context.Background()), &advised) {
			b.Fatal("no advice")
		}
		return len(advised.Shortfall.Suggestions)
	})
}

// benchmarkRefusals measures refusals on four sizes of clusters, after something more is found out about each, which is counted.
func benchmarkRefusals(b *testing.B, more func(*plan.Unplaceable) int) {
	for _, n := range []int{10, 100, 1000, 10000} {
		nodes, err := plantest.Crowded(n)
		if err != nil {
			b.Fatal(err)
		}
		cluster := fleet.NewCluster(nodes)
		for _, kind := range plantest.RefusedKinds() {
			b.Run(fmt.Sprintf("%s/nodes=%d", kind.Name, n), func(b *testing.B) {
				ask, err := kind.Request()
				if err != nil {
					b.Fatal(err)
				}
				request := shape.Request{Placement: ask.Placement, Model: ask.Model}
				b.ReportAllocs()
				made, before := 0, processor(b)
				for b.Loop() {
					_, err := plan.Within(context.Background(), cluster, request)
					var no *plan.Unplaceable
					if !errors.As(err, &no) {
						b.Skipf("it fits, or cannot be meant: %v", err)
					}
					made = more(no)
				}
				b.ReportMetric(float64(processor(b)-before)/float64(b.N), "cpu-ns/op")
				b.ReportMetric(float64(made), "suggestions")
			})
		}
	}
}

// processor is the processor time that this process has taken, the collector's included, which other work on the machine changes little.
func processor(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
