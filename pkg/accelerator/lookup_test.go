package accelerator

import (
	"testing"

	"pgregory.net/rapid"
)

func TestLookup(t *testing.T) {
	tests := map[string]struct {
		key  Key
		want string // empty where the catalogue must not answer
	}{
		"id alone":                            {Key{VendorID: "10de", DeviceID: "2330"}, "NVIDIA H100 80GB HBM3"},
		"id in capitals with 0x":              {Key{VendorID: "0x10DE", DeviceID: "0x26B9"}, "NVIDIA L40S"},
		"partition of a known id":             {Key{VendorID: "1002", DeviceID: "74a1", MemoryMiB: 24576}, "AMD Instinct MI300X"},
		"virtual function":                    {Key{VendorID: "1002", DeviceID: "74b5"}, "AMD Instinct MI300X"},
		"id that the row's notes add":         {Key{VendorID: "8086", DeviceID: "0bdb"}, "Intel(R) Data Center GPU Max 1100"},
		"RX 7900 XTX by revision":             {Key{VendorID: "1002", DeviceID: "744c", Revision: "c8"}, "AMD Radeon RX 7900 XTX"},
		"RX 7900 XTX by revision in capitals": {Key{VendorID: "1002", DeviceID: "744c", Revision: "0xC8"}, "AMD Radeon RX 7900 XTX"},
		"RX 7900 XT by revision":              {Key{VendorID: "1002", DeviceID: "744c", Revision: "cc"}, "AMD Radeon RX 7900 XT"},
		"RX 7900 XT with a name that lies":    {Key{VendorID: "1002", DeviceID: "744c", Revision: "cc", Product: "AMD Radeon RX 7900 XTX"}, "AMD Radeon RX 7900 XT"},
		"RX 7900M has no row":                 {Key{VendorID: "1002", DeviceID: "744c", Revision: "cf"}, ""},
		"744c without revision":               {Key{VendorID: "1002", DeviceID: "744c"}, ""},
		"744c by name":                        {Key{VendorID: "1002", DeviceID: "744c", Product: "AMD Radeon RX 7900 XTX"}, "AMD Radeon RX 7900 XTX"},
		"744c by 24 GiB":                      {Key{VendorID: "1002", DeviceID: "744c", MemoryMiB: 24560}, "AMD Radeon RX 7900 XTX"},
		"744c with 20 GiB":                    {Key{VendorID: "1002", DeviceID: "744c", MemoryMiB: 20464}, "AMD Radeon RX 7900 XT"},
		"744c with 12 GiB":                    {Key{VendorID: "1002", DeviceID: "744c", MemoryMiB: 12272}, ""},
		"A16 by subsystem":                    {Key{VendorID: "10de", DeviceID: "25b6", SubsystemVendorID: "10de", SubsystemDeviceID: "14a9"}, "NVIDIA A16"},
		"A2 by subsystem":                     {Key{VendorID: "10de", DeviceID: "25b6", SubsystemVendorID: "10de", SubsystemDeviceID: "157e"}, "NVIDIA A2"},
		"A2 by name":                          {Key{VendorID: "10de", DeviceID: "25b6", Product: "NVIDIA A2", MemoryMiB: 15356}, "NVIDIA A2"},
		"A2 or A16":                           {Key{VendorID: "10de", DeviceID: "25b6", MemoryMiB: 15356}, ""},
		"P100 by id":                          {Key{VendorID: "10de", DeviceID: "15f9"}, "Tesla P100-SXM2-16GB"},
		"V100 of a DGX Station":               {Key{VendorID: "10de", DeviceID: "1db7"}, "Tesla V100-DGXS-32GB"},
		"A10G":                                {Key{VendorID: "10de", DeviceID: "2237"}, "NVIDIA A10G"},
		"A800":                                {Key{VendorID: "10de", DeviceID: "20f3"}, "NVIDIA A800-SXM4-80GB"},
		"H800":                                {Key{VendorID: "10de", DeviceID: "2324"}, "NVIDIA H800"},
		"RTX 4080":                            {Key{VendorID: "10de", DeviceID: "2704"}, "NVIDIA GeForce RTX 4080"},
		"RTX 3060 of a later id":              {Key{VendorID: "10de", DeviceID: "2504"}, "NVIDIA GeForce RTX 3060"},
		"RX 6900 XT by revision":              {Key{VendorID: "1002", DeviceID: "73bf", Revision: "c0"}, "AMD Radeon RX 6900 XT"},
		"73bf of unknown revision":            {Key{VendorID: "1002", DeviceID: "73bf", MemoryMiB: 16368}, ""},
		"Trainium1":                           {Key{Product: "Trainium1"}, "NeuronDevice (Trainium)"},
		"Blackhole p300 by subsystem":         {Key{VendorID: "1e52", DeviceID: "b140", SubsystemDeviceID: "0046"}, "Blackhole p300"},
		"Wormhole of a Galaxy":                {Key{VendorID: "1e52", DeviceID: "401e", SubsystemDeviceID: "0035"}, "Galaxy Wormhole"},
		"Radeon 8060S by revision":            {Key{VendorID: "1002", DeviceID: "1586", Revision: "d1", MemoryMiB: 512}, "AMD Radeon 8060S"},
		"Radeon 8050S has no row":             {Key{VendorID: "1002", DeviceID: "1586", Revision: "c2", MemoryMiB: 98304}, ""},
		"1586 without revision":               {Key{VendorID: "1002", DeviceID: "1586"}, ""},
		"TPU v2 by subsystem":                 {Key{VendorID: "1ae0", DeviceID: "0027", SubsystemVendorID: "1ae0", SubsystemDeviceID: "004e"}, "TPU v2"},
		"TPU v3 by subsystem":                 {Key{VendorID: "1ae0", DeviceID: "0027", SubsystemVendorID: "1ae0", SubsystemDeviceID: "004f"}, "TPU v3"},
		"TPU v2 or v3":                        {Key{VendorID: "1ae0", DeviceID: "0027"}, ""},
		"TPU 0027 of unknown subsystem":       {Key{VendorID: "1ae0", DeviceID: "0027", SubsystemDeviceID: "0050", MemoryMiB: 32768}, ""},
		"TPU v3 by memory":                    {Key{VendorID: "1ae0", DeviceID: "0027", MemoryMiB: 32768}, "TPU v3"},
		"TPU v5p":                             {Key{VendorID: "1ae0", DeviceID: "0062"}, "TPU v5p"},
		"GH200 of either host memory":         {Key{VendorID: "10de", DeviceID: "2342", Product: "NVIDIA GH200 120GB"}, "NVIDIA GH200 480GB"},
		"AI 100 by name":                      {Key{VendorID: "17cb", DeviceID: "a100", Product: "AI 100 Ultra", MemoryMiB: 32768}, "AI 100 Ultra"},
		"AI 100 by memory":                    {Key{VendorID: "17cb", DeviceID: "a100", MemoryMiB: 16384}, "AI 100 Standard"},
		"AI 100 Pro or a part of an Ultra":    {Key{VendorID: "17cb", DeviceID: "a100", MemoryMiB: 32768}, ""},
		"AI 100 of unknown kind":              {Key{VendorID: "17cb", DeviceID: "a100"}, ""},
		"AI 100 of a size between":            {Key{VendorID: "17cb", DeviceID: "a100", MemoryMiB: 24576}, ""},
		"Graphcore needs its name":            {Key{VendorID: "1d95", DeviceID: "0001"}, ""},
		"Graphcore by name":                   {Key{VendorID: "1d95", DeviceID: "0001", Product: "Bow IPU"}, "Bow IPU"},
		"name alone":                          {Key{Product: "NVIDIA L40S"}, "NVIDIA L40S"},
		"name without vendor":                 {Key{Product: "A100-SXM4-80GB"}, "NVIDIA A100-SXM4-80GB"},
		"name with vendor before Tesla":       {Key{Product: "NVIDIA Tesla T4"}, "Tesla T4"},
		"name in another case":                {Key{Product: "  nvidia  l40s\n"}, "NVIDIA L40S"},
		"name with unknown id":                {Key{VendorID: "10de", DeviceID: "ffff", Product: "NVIDIA L40S"}, "NVIDIA L40S"},
		"name of another vendor":              {Key{VendorID: "1002", DeviceID: "ffff", Product: "NVIDIA L40S"}, ""},
		"longer name":                         {Key{Product: "NVIDIA L40S-48Q"}, ""},
		"Orin by memory":                      {Key{Product: "Orin (nvgpu)", MemoryMiB: 62840}, "Orin (nvgpu) AGX 64GB"},
		"Orin of unknown memory":              {Key{Product: "Orin (nvgpu)"}, ""},
		"M4 Max by memory":                    {Key{Product: "Apple M4 Max", MemoryMiB: 36864}, "Apple M4 Max (32-core)"},
		"M4 Max with more":                    {Key{Product: "Apple M4 Max", MemoryMiB: 131072}, "Apple M4 Max (40-core)"},
		"unknown id":                          {Key{VendorID: "10de", DeviceID: "ffff"}, ""},
		"vendor alone":                        {Key{VendorID: "10de"}, ""},
		"nothing":                             {Key{}, ""},
		"vendor prefix alone":                 {Key{Product: "NVIDIA"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := Lookup(test.key)
			if ok != (test.want != "") || got.Name != test.want {
				t.Errorf("Lookup(%+v) = %q, %v; want %q", test.key, got.Name, ok, test.want)
			}
		})
	}
}

func TestLookupTakesTheNearestSizeOfAProduct(t *testing.T) {
	for memory, want := range map[int64]int64{0: 8192, 8192: 8192, 15000: 16384, 30000: 24576} {
		got, ok := Lookup(Key{Product: "Apple M2", MemoryMiB: memory})
		if !ok || got.MemoryMiB != want {
			t.Errorf("Apple M2 with %d MiB: %d MiB, %v; want %d", memory, got.MemoryMiB, ok, want)
		}
	}
}

// TestLookupFindsEveryRow asks for each row by its own name and, where it is on PCI, by its id and name.
func TestLookupFindsEveryRow(t *testing.T) {
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for id, entries := range c.byID {
		for _, e := range entries {
			key := Key{VendorID: id.vendor, DeviceID: id.device, Revision: e.revision, SubsystemDeviceID: e.subsystem, Product: e.row.Name}
			if got, ok := Lookup(key); !ok || got.Name != e.row.Name {
				t.Errorf("Lookup(%+v) = %q, %v; want %q", key, got.Name, ok, e.row.Name)
			}
		}
	}
	for _, r := range c.rows {
		if got, ok := Lookup(Key{Product: r.Name}); !ok || got.Name != r.Name {
			t.Errorf("by name %q: %q, %v", r.Name, got.Name, ok)
		}
	}
}

// TestLookupIsTotal draws keys from the data's own ids and from noise: an answer is always a row of the vendor asked for.
func TestLookupIsTotal(t *testing.T) {
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	vendors, devices, names := []string{"", "\xff"}, []string{"", "*"}, []string{"", "nvidia"}
	for _, r := range c.rows {
		names = append(names, r.Name)
	}
	for id := range c.byID {
		vendors, devices = append(vendors, id.vendor), append(devices, id.device)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		key := Key{
			VendorID:          rapid.OneOf(rapid.SampledFrom(vendors), text).Draw(t, "vendor"),
			DeviceID:          rapid.OneOf(rapid.SampledFrom(devices), text).Draw(t, "device"),
			SubsystemDeviceID: rapid.OneOf(rapid.SampledFrom([]string{"", "004e", "004f"}), text).Draw(t, "subsystem"),
			Revision:          rapid.OneOf(rapid.SampledFrom([]string{"", "c8", "cc"}), text).Draw(t, "revision"),
			Product:           rapid.OneOf(rapid.SampledFrom(names), text).Draw(t, "product"),
			MemoryMiB:         rapid.Int64().Draw(t, "memory"),
		}
		got, ok := Lookup(key)
		if !ok {
			if got.Name != "" {
				t.Fatalf("%+v: a product without a match: %q", key, got.Name)
			}
			return
		}
		found := c.named(got.Name)
		if len(found) == 0 || !found[0].row.madeBy(hex(key.VendorID)) {
			t.Fatalf("%+v: %q is not a row of that vendor", key, got.Name)
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	for name, key := range map[string]Key{
		"id":        {VendorID: "10de", DeviceID: "2330", Product: "NVIDIA H100 80GB HBM3"},
		"ambiguous": {VendorID: "1ae0", DeviceID: "0027", MemoryMiB: 32768},
		"name":      {Product: "NVIDIA RTX PRO 6000 Blackwell Server Edition"},
		"unknown":   {VendorID: "10de", DeviceID: "ffff", Product: "NVIDIA X"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Lookup(key)
			}
		})
	}
}

// TestUsualNode says how many devices a host is taken to have where nobody does.
func TestUsualNode(t *testing.T) {
	for name, want := range map[string]int{"M4 Max 128GB": 1, "Strix Halo": 1, "DGX Spark": 1, "GB200": 4, "H100": 8, "RTX 4090": 8} {
		if p, err := Find(name); err != nil || p.DevicesPerNode != want {
			t.Errorf("%s: %d devices, %v; want %d", name, p.DevicesPerNode, err, want)
		}
	}
}
