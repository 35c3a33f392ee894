package accelerator

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"NVIDIA H100 80GB HBM3": "NVIDIA H100 80GB HBM3", "H100": "NVIDIA H100 80GB HBM3", "H100 SXM": "NVIDIA H100 80GB HBM3",
		"H100 SXM5 80GB": "NVIDIA H100 80GB HBM3", "h100 pcie": "NVIDIA H100 PCIe", "H100 NVL": "NVIDIA H100 NVL",
		"h200": "NVIDIA H200", "H200-NVL": "NVIDIA H200 NVL", "B200": "NVIDIA B200", "b300": "NVIDIA B300 SXM6 AC",
		"GB200": "NVIDIA GB200", "GB200 NVL72": "NVIDIA GB200", "GB300": "NVIDIA GB300", "GH200 480GB": "NVIDIA GH200 480GB",
		"A100 80GB": "NVIDIA A100-SXM4-80GB", "A100 80GB PCIe": "NVIDIA A100 80GB PCIe", "A100 40GB": "NVIDIA A100-SXM4-40GB",
		"MI300X": "AMD Instinct MI300X", "mi325x 256gb": "AMD Instinct MI325X", "L4": "NVIDIA L4", "l40": "NVIDIA L40", "L40S": "NVIDIA L40S",
		"T4": "Tesla T4", "H20": "NVIDIA H20", "RTX 4090": "NVIDIA GeForce RTX 4090", "RTX4090": "NVIDIA GeForce RTX 4090", "A10": "NVIDIA A10", "V100 16GB": "Tesla V100-SXM2-16GB",
		"Arc Pro B60": "Intel(R) Arc(TM) Pro B60 Graphics", "trainium2": "NeuronDevice (Trainium2)",
	} {
		if got, err := Find(name); err != nil || got.Name != want {
			t.Errorf("%q: got %q, %v; want %q", name, got.Name, err, want)
		}
	}
}

// TestFindWith tells products of one name apart by their memory, where that can.
func TestFindWith(t *testing.T) {
	for _, c := range []struct {
		name string
		gib  int64
		want string
	}{
		{"M3 Max", 64, "Apple M3 Max (40-core)"},
		{"M3 Max", 36, "Apple M3 Max (30-core)"},
		{"A100", 80, "NVIDIA A100-SXM4-80GB"},
		{"GH200", 144, "NVIDIA GH200 144G HBM3e"},
		{"H100", 80, "NVIDIA H100 80GB HBM3"},
		{"H100", 96, "NVIDIA H100 80GB HBM3"},
		{"M3 Max", 500, ""},
		{"A100", 0, ""},
	} {
		got, err := FindWith(c.name, c.gib*1024)
		if got.Name != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s with %d GiB: %q, %v, want %q", c.name, c.gib, got.Name, err, c.want)
		}
	}
}

// TestFindSold finds accelerators by the names of machines, and by spellings without spaces.
func TestFindSold(t *testing.T) {
	for name, want := range map[string]string{
		"DGX Spark": "NVIDIA GB10", "Strix Halo": "AMD Radeon 8060S", "trn2": "NeuronDevice (Trainium2)", "Inf2": "NeuronDevice (Inferentia2)",
		"TPU v7": "TPU7x (Ironwood)", "4070Ti": "NVIDIA GeForce RTX 4070 Ti", "RTX4060Ti": "NVIDIA GeForce RTX 4060 Ti", "M4Pro": "Apple M4 Pro",
		"3090": "NVIDIA GeForce RTX 3090", "M4": "Apple M4", "Gaudi 3": "HL-325L (Gaudi3 OAM)",
		"RyzenAI-npu4 (Strix/Krackan/Strix Halo)": "RyzenAI-npu4 (Strix/Krackan/Strix Halo)",
	} {
		if got, err := Find(name); err != nil || got.Name != want {
			t.Errorf("%q: got %q, %v; want %q", name, got.Name, err, want)
		}
	}
	for name, gib := range map[string]int64{
		"RTX 4060 Ti": 8, "RTX 4060 Ti 16GB": 16, "M4 Max 128GB": 128, "M3Max 96GB": 96, "M2 Ultra 192GB": 192, "H100 80GB": 80,
	} {
		if got, err := Find(name); err != nil || got.MemoryMiB != gib*1024 {
			t.Errorf("%q: got %d MiB, %v; want %d GiB", name, got.MemoryMiB, err, gib)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	for name, want := range map[string]string{
		"":             "name a product",
		"NVIDIA":       "name a product",
		"80GB":         "is not in the catalogue",
		"SXM":          "is not in the catalogue",
		"H1000":        "did you mean",
		"NVIDIA H110":  "NVIDIA H100 80GB HBM3",
		"A100":         "name one of NVIDIA A100-SXM4-40GB, NVIDIA A100-SXM4-80GB",
		"GH200":        "name one of NVIDIA GH200 480GB, NVIDIA GH200 144G HBM3e",
		"RTX PRO 6000": "Server Edition",
		"H100 40GB":    "is not in the catalogue",
	} {
		if got, err := Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, error %v; want one with %q", name, got.Name, err, want)
		}
	}
}

// TestEveryProductIsFound: every reported name finds its own product.
func TestEveryProductIsFound(t *testing.T) {
	for _, name := range Names() {
		if got, err := Find(name); err != nil || got.Name != name {
			t.Errorf("%q: got %q, %v", name, got.Name, err)
		}
	}
}
