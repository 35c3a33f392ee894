package paths_test

import (
	"fmt"

	"github.com/rankwright/rankwright/pkg/plan/pipeline/paths"
)

// Two fast devices hold half of the model each, four slow ones a quarter: requests flow over both rows of devices, the slow
// ones beside the fast ones.
func ExampleOptimize() {
	fast := paths.Device{Rates: []float64{800, 400}}
	slow := paths.Device{Rates: []float64{100}}
	fleet := paths.Fleet{Layers: 4, Devices: []paths.Device{fast, fast, slow, slow, slow, slow}}
	best, err := paths.Optimize(fleet, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f tokens/s, proven: %t\n", best.Rate, best.Proven)
	for device, span := range best.Spans {
		fmt.Printf("device %d: layers %d to %d\n", device, span.Start, span.End-1)
	}
	// Output:
	// 500 tokens/s, proven: true
	// device 0: layers 0 to 1
	// device 1: layers 2 to 3
	// device 2: layers 0 to 0
	// device 3: layers 1 to 1
	// device 4: layers 2 to 2
	// device 5: layers 3 to 3
}
