package operator

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

// hosts are inventories as an API server sends them.
func hosts(t testing.TB, shape string, count int) [][]byte {
	t.Helper()
	of, err := synthetic.Lookup(shape)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := synthetic.Build(synthetic.Spec{Nodes: []synthetic.Count{{Shape: of, Nodes: count}}, Pattern: synthetic.Islands})
	if err != nil {
		t.Fatal(err)
	}
	texts := make([][]byte, count)
	for i := range nodes {
		if texts[i], err = json.Marshal(nodes[i].Inventory); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

func decoded(t testing.TB, text []byte) *v1alpha1.AcceleratorInventory {
	t.Helper()
	inventory := &v1alpha1.AcceleratorInventory{}
	if err := json.Unmarshal(text, inventory); err != nil {
		t.Fatal(err)
	}
	return inventory
}

func TestDevicesThatAreAlikeShareWhatTheyCanDo(t *testing.T) {
	for _, shape := range []string{"h100x8", "mi300x8", "gb200x4"} {
		text := hosts(t, shape, 1)[0]
		kept, whole := decoded(t, text), decoded(t, text)
		if _, err := trimmed(kept); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, kept); diff != "" {
			t.Errorf("%s is another (-whole +kept):\n%s", shape, diff)
		}
		for i, d := range kept.Status.Devices {
			if d.Performance == nil || d.Performance != kept.Status.Devices[0].Performance {
				t.Errorf("device %d of %s has its own %v", i, shape, d.Performance)
			}
		}
	}
	kept := decoded(t, hosts(t, "h100x8", 1)[0])
	kept.Status.Devices[1].Performance.Peak[0].GFLOPS++
	if _, err := trimmed(kept); err != nil {
		t.Fatal(err)
	}
	if d := kept.Status.Devices; d[0].Performance == d[1].Performance || d[1].Performance == d[2].Performance || d[2].Performance != d[3].Performance {
		t.Error("a device has what another one can do")
	}
}

// BenchmarkKept says how many bytes of memory an inventory of eight devices takes that an informer keeps.
func BenchmarkKept(b *testing.B) {
	const count = 500
	texts := hosts(b, "h100x8", count)
	for _, form := range []struct {
		name string
		keep func(*v1alpha1.AcceleratorInventory)
	}{
		{"whole", func(*v1alpha1.AcceleratorInventory) {}},
		{"trimmed", func(i *v1alpha1.AcceleratorInventory) { _, _ = trimmed(i) }},
	} {
		b.Run(form.name, func(b *testing.B) {
			b.ReportAllocs()
			kept := make([]*v1alpha1.AcceleratorInventory, count)
			before := live()
			for b.Loop() {
				for i := range texts {
					kept[i] = decoded(b, texts[i])
					form.keep(kept[i])
				}
			}
			b.ReportMetric(float64(live()-before)/count, "B/inventory")
			runtime.KeepAlive(kept)
		})
	}
}

// live are the bytes of the heap that are in use.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
