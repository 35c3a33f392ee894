package memory

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

func BenchmarkNew(b *testing.B) {
	for _, name := range []string{"Llama-3.2-1B", "Llama-3.1-70B", "DeepSeek-V3"} {
		b.Run(name, func(b *testing.B) {
			s := benchSetup(b, name)
			for b.Loop() {
				if _, err := New(s, h200); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRoom(b *testing.B) {
	for _, name := range []string{"Llama-3.2-1B", "Llama-3.1-70B", "DeepSeek-V3"} {
		b.Run(name, func(b *testing.B) {
			f, err := New(benchSetup(b, name), h200)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if room := f.Room(1, f.Layers(), Device{VisibleBytes: 1 << 45}); !room.Fits() {
					b.Fatal(room.Reason)
				}
			}
		})
	}
}

func benchSetup(b *testing.B, name string) Setup {
	b.Helper()
	m, err := model.Lookup(name)
	if err != nil {
		b.Fatal(err)
	}
	return Setup{Model: m, Weights: v1alpha1.FP8, Layout: Layout{Tensor: 8}, Inference: &Inference{MaxModelLen: 8192}}
}
