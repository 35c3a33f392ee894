package cerebras

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose/probe"
)

func TestCerebrasSystems(t *testing.T) {
	s := probe.NewTree(t)
	s.File(cerebrasConfig, "{}")
	argv := []string{"csctl", "get", "cluster", "--system-only", "--output", "json"}
	s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(`{"items":[{"meta":{"name":"a"}},{"meta":{}},{"meta":{"name":"b"}}]}`)}, argv...))
	s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(`{"items":[{"meta":{"name":"b"}}]}`)}, append(argv, "--error-only")...))
	found := s.Detect(CS())
	if len(found.Devices) != 2 || found.Devices[0].Health.State != v1alpha1.Healthy || found.Devices[1].Health.State != v1alpha1.Unhealthy {
		t.Errorf("got %+v", found.Devices)
	}
}

// The memory is known where the list names the product, by a field and not by what somebody calls the system.
func TestCerebrasMemory(t *testing.T) {
	for name, test := range map[string]struct {
		item, product string
		totalMiB      int64
	}{
		"the product":            {`{"meta":{"name":"a","properties":{"model":"CS-3"}}}`, "CS-3", 41 << 10},
		"the wafer":              {`{"meta":{"name":"a"},"spec":{"type":"wse2"}}`, "CS-2", 37.25 * 1024},
		"a name that means it":   {`{"meta":{"name":"cer-cs3-01"}}`, "Cerebras CS system", 0},
		"a product not in sight": {`{"meta":{"name":"a","properties":{"model":"CS-9"}}}`, "Cerebras CS system", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := probe.NewTree(t)
			s.File(cerebrasConfig, "{}")
			argv := []string{"csctl", "get", "cluster", "--system-only", "--output", "json"}
			s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(`{"items":["x",` + test.item + `]}`)}, argv...))
			s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(`{"items":[]}`)}, append(argv, "--error-only")...))
			d := s.Detect(CS()).Devices[0]
			var want *v1alpha1.DeviceMemory
			if test.totalMiB > 0 {
				want = &v1alpha1.DeviceMemory{TotalMiB: test.totalMiB, Source: v1alpha1.SourceCatalogue}
			}
			if diff := cmp.Diff(want, d.Memory); diff != "" || d.Product != test.product {
				t.Errorf("got %q\n%s", d.Product, diff)
			}
		})
	}
}

func TestCerebrasHealthIsNotAssumed(t *testing.T) {
	if health := cerebrasHealth("a", nil, errors.New("unknown flag")); health.State != v1alpha1.Unknown {
		t.Errorf("got %+v", health)
	}
}
