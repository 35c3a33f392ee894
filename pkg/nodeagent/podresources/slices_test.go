package podresources

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// sliceOfTwo is a ResourceSlice as gpu.nvidia.com and gpu.amd.com publish it, shortened.
const sliceOfTwo = `{"kind":"ResourceSlice","spec":{"driver":"gpu.example.com","nodeName":"node-1","pool":{"name":"node-1"},
"devices":[
 {"name":"gpu-0","attributes":{"uuid":{"string":"GPU-a"},"resource.kubernetes.io/pciBusID":{"string":"0000:17:00.0"},"productName":{"string":"H100"}}},
 {"name":"gpu-1","attributes":{"gpu.example.com/index":{"int":1},"healthy":{"bool":true}}}]}}`

func TestPublishedOfASlice(t *testing.T) {
	got := publishedOf(t, sliceOfTwo)
	want := Published{
		claim("gpu.example.com", "gpu-0"): {UUID: "GPU-a", PCI: "0000:17:00.0", Selectors: []v1alpha1.ClaimAttribute{
			{Name: "gpu.example.com/uuid", String: ptr.To("GPU-a")}, {Name: "resource.kubernetes.io/pciBusID", String: ptr.To("0000:17:00.0")},
		}},
		claim("gpu.example.com", "gpu-1"): {Index: "1", Selectors: []v1alpha1.ClaimAttribute{{Name: "gpu.example.com/index", Int: ptr.To[int64](1)}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}

// publishedOf is what a driver says by a ResourceSlice in JSON.
func publishedOf(t *testing.T, slice string) Published {
	t.Helper()
	var s resourceapi.Slice
	if err := json.Unmarshal([]byte(slice), &s); err != nil {
		t.Fatal(err)
	}
	published := Published{}
	published.Add(&s)
	return published
}

// Whatever a slice says, reading it and looking its devices up ends without a panic, and finds devices of the host only.
func FuzzPublished(f *testing.F) {
	f.Add(sliceOfTwo)
	f.Add(`{"spec":{"driver":"tpu.google.com","devices":[{"name":"0","attributes":{"index":{"int":-1}}}]}}`)
	known := map[string]bool{}
	for i := range host {
		known[string(host[i].ID)] = true
	}
	f.Fuzz(func(t *testing.T, content string) {
		var slice resourceapi.Slice
		if json.Unmarshal([]byte(content), &slice) != nil {
			return
		}
		published := Published{}
		published.Add(&slice)
		h := NewHardware(host, published)
		for name := range published {
			for _, id := range h.Find(name) {
				if !known[string(id)] {
					t.Fatalf("%+v is %s, which is not on the host", name, id)
				}
			}
		}
		h.Owners(Evidence{Published: published})
	})
}

// Whatever a plugin calls its devices, finding them ends without a panic.
func FuzzFind(f *testing.F) {
	f.Add("nvidia.com/gpu", gpuUUID+"::0")
	f.Add("rankwright.dev/x", "nvidia-0000:17:00.0::")
	f.Add("gpu.intel.com/i915", "card4-0")
	f.Fuzz(func(t *testing.T, resource, id string) {
		h := NewHardware(host, nil)
		for _, name := range []Name{plugin(resource, id), claim(resource, id)} {
			for _, found := range h.Find(name) {
				if len(found) > 96 {
					t.Fatalf("%+v is %q, which an inventory cannot hold", name, found)
				}
			}
		}
	})
}
