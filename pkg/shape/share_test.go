package shape

import (
	"math"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/price"
	"github.com/rankwright/rankwright/test/plantest"
)

// TestPartitionsArePricedByTheirShare: of memory or of arithmetic, whichever is larger.
func TestPartitionsArePricedByTheirShare(t *testing.T) {
	for name, c := range map[string]struct {
		kind   string
		mib    int64
		rate   int64 // in percent of the whole
		dollar float64
	}{
		"whole":   {"", plantest.H100.MiB, 100, 7},
		"1g.10gb": {"MIG", plantest.H100.MiB / 8, 14, 7 * 0.14},
		"3g.40gb": {"MIG", plantest.H100.MiB / 2, 43, 7 * 0.5},
	} {
		part := plantest.H100
		part.MiB, part.TFLOPS = c.mib, map[v1alpha1.Precision]int64{v1alpha1.BF16: 989 * c.rate / 100, v1alpha1.FP16: 989 * c.rate / 100}
		n := plantest.Host("a", false, part)
		if c.kind != "" {
			n.Inventory.Status.Devices[0].Partition = &v1alpha1.DevicePartition{Kind: c.kind}
		}
		problem, err := New(fleet.NewCluster([]fleet.Node{n}), Request{
			Placement: plantest.Placement(1024, 1), Model: plantest.Llama(t, 8),
			Prices: func(string) (price.Price, bool) { return price.Price{MicroUSDPerHour: 7e6}, true },
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := problem.Price(0); !ok || math.Abs(float64(got.MicroUSDPerHour)/1e6-c.dollar) > 0.05 {
			t.Errorf("%s: %d, want about %g dollars", name, got.MicroUSDPerHour, c.dollar)
		}
	}
}
