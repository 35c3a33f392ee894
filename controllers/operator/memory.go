package operator

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/api/resource"
)

// LimitMemory has garbage collected more often as the process comes near to nine tenths of what its container may take, which is a quantity such as
// 1Gi; empty sets no limit. A tenth is left for what Go's runtime does not count. $GOMEMLIMIT says otherwise.
func LimitMemory(container string) error {
	if container == "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	limit, err := resource.ParseQuantity(container)
	if err != nil || limit.Value() <= 0 {
		return fmt.Errorf("%q is no amount of memory: use a quantity such as 1Gi", container)
	}
	const share = 0.9
	debug.SetMemoryLimit(int64(math.Floor(share * limit.AsApproximateFloat64())))
	return nil
}
