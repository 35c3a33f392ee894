package figure

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const benchOutput = `goos: linux
BenchmarkBaseline-2               	    1000	   1000000 ns/op
BenchmarkScalePlan/single/devices=4-2   	   30000	     40000 ns/op	   12000 B/op	      99 allocs/op
BenchmarkScalePlan/moe/nodes=10000-2    	      50	  25000000 ns/op
BenchmarkScaleIndex/nodes=10000-2       	      10	  50000000 ns/op	  30000000 index-bytes
BenchmarkOther-2                        	      10	  50000000 ns/op
PASS
`

func TestBars(t *testing.T) {
	var out strings.Builder
	if err := Bars(strings.NewReader(benchOutput), &out); err != nil {
		t.Fatal(err)
	}
	want := `BENCHMARK                   MEASURED  BAR      OF BAR  OF BASELINE  HOLDS
ScalePlan/single/devices=4  40µs      50µs     80 %    0.04         yes
ScalePlan/moe/nodes=10000   25ms      20ms     125 %   25           NO
ScaleIndex/nodes=10000      50ms      100ms    50 %    50           yes
ScaleIndex/nodes=10000      30.0 MB   60.0 MB  50 %    -            yes
BenchmarkBaseline           1ms
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := Bars(strings.NewReader("BenchmarkOther-2 1 1 ns/op\n"), &out); err == nil {
		t.Error("no baseline, no error")
	}
}
