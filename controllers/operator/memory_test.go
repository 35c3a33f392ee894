package operator_test

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/controllers/operator"
)

func TestLimitMemory(t *testing.T) {
	asks := func() int64 { return debug.SetMemoryLimit(-1) } // a negative limit changes nothing
	before := asks()
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for _, c := range []struct {
		container, environment string
		want                   int64
		wrong                  string
	}{
		{container: "", want: before},
		{container: "1000Mi", want: 900 << 20},
		{container: "1073741824", want: 966367641},
		{container: "1Gi", environment: "300MiB", want: before},
		{container: "1 GB", want: before, wrong: `"1 GB" is no amount of memory: use a quantity such as 1Gi`},
		{container: "0", want: before, wrong: `"0" is no amount of memory`},
	} {
		t.Run(c.container+c.environment, func(t *testing.T) {
			debug.SetMemoryLimit(before)
			t.Setenv("GOMEMLIMIT", c.environment)
			err := operator.LimitMemory(c.container)
			if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("error %v, want %q", err, c.wrong)
			}
			if got := asks(); got != c.want {
				t.Errorf("limit %d, want %d", got, c.want)
			}
		})
	}
}
