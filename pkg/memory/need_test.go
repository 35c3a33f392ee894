package memory

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/model"
)

// Need and Offer decide as Room does; only SGLang's may refuse what Room takes, where others use the device.
func TestNeedAgreesWithRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := model.Lookup(rapid.SampledFrom([]string{"Llama-3.1-8B", "Llama-3.1-70B", "gpt-oss-20b", "DeepSeek-V3", "Qwen3-30B-A3B"}).Draw(t, "model"))
		if err != nil {
			t.Fatal(err)
		}
		d := Device{Vendor: "nvidia", TotalBytes: rapid.Int64Range(4<<30, 300<<30).Draw(t, "total")}
		d.OthersBytes = rapid.SampledFrom([]int64{0, 0, 1 << 20, d.TotalBytes / 4}).Draw(t, "others")
		s := Setup{
			Model: m, Engine: v1alpha1.Engine(rapid.SampledFrom(engine.Names()).Draw(t, "engine")), Weights: rapid.SampledFrom([]v1alpha1.Precision{v1alpha1.BF16, v1alpha1.FP8, v1alpha1.INT4}).Draw(t, "weights"),
			Layout: Layout{Tensor: 1 << rapid.IntRange(0, 3).Draw(t, "tensor"), Pipeline: 2},
			Inference: &Inference{
				MaxModelLen: rapid.Int64Range(1, 1<<17).Draw(t, "length"), Sequences: rapid.Int64Range(1, 512).Draw(t, "sequences"),
			},
		}
		f, err := New(s, d)
		if err != nil {
			t.Fatal(err)
		}
		cut := rapid.IntRange(1, f.Layers()-1).Draw(t, "cut")
		for _, run := range [][2]int{{0, cut}, {cut, f.Layers()}, {0, f.Layers()}} {
			room := f.Room(run[0], run[1], d)
			fits := f.Need(run[0], run[1]) <= Offer(s.Engine, false, 0, d)
			if fits == room.Fits() || !fits && s.Engine == v1alpha1.EngineSGLang && d.TotalBytes > 0 {
				continue
			}
			t.Fatalf("layers %v of %s on %d bytes: need %d, offer %d, room says %q", run, s.Model.Name, d.TotalBytes, f.Need(run[0], run[1]), Offer(s.Engine, false, 0, d), room.Reason)
		}
	})
}
