package memory_test

import (
	"fmt"

	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/model"
)

// GPT-OSS-20B on one H100, served by vLLM with its defaults: 8192 tokens and 1024 sequences in a step.
func ExampleFootprint_Explain() {
	m, err := model.Lookup("GPT-OSS-20B")
	if err != nil {
		panic(err)
	}
	device := memory.Device{Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", TotalBytes: 81559 << 20}
	f, err := memory.New(memory.Setup{
		Model: m, Weights: "MXFP4", Inference: &memory.Inference{MaxModelLen: 8192, Sequences: 64},
	}, device)
	if err != nil {
		panic(err)
	}
	for _, line := range f.Explain(0, f.Layers()) {
		fmt.Printf("%s, %s: %.2f GiB = %s\n", line.Component, line.Name, float64(line.Bytes)/(1<<30), line.Formula)
	}
	room := f.Room(0, f.Layers(), device)
	fmt.Printf("%.2f GiB are left for the cache: %d sequences\n", float64(room.Free)/(1<<30), room.Sequences)
	// Output:
	// weights, layers 0 to 23: 1.20 GiB = 24 layers × 53480512 B
	// weights, experts of layers 0 to 23: 10.09 GiB = 24 layers × (32 experts × 3 matrices × 3072 hidden × 2880 width × 17 / 32 B + 32 experts × 2 biases × 2880 width × 2 B)
	// weights, embedding: 1.08 GiB = 201088 rows × 2880 hidden × 2 B
	// weights, final norm: 0.00 GiB = 5760 B
	// weights, head: 1.08 GiB = 201088 rows × 2880 hidden × 2 B
	// kvCache, 12 of layers 0 to 22: 0.40 GiB = 64 sequences × 12 layers × 144 tokens × 2048 B + 12 layers × 8048 tokens of a step × 2048 B
	// kvCache, 12 of layers 1 to 23: 12.00 GiB = 64 sequences × 12 layers × 8192 tokens × 2048 B
	// activations, sampling: 7.31 GiB = 8192 tokens × 2880 hidden × 2 B + 1024 sequences × 201088 words × 3791 / 100 B
	// engine, process: 0.13 GiB = 139460608 B
	// 50.23 GiB are left for the cache: 262 sequences
}
