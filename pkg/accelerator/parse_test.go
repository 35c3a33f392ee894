package accelerator

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestEveryRowParses(t *testing.T) {
	if _, err := parse(productsCSV, aliasesCSV, reportedCSV); err != nil {
		t.Fatal(err)
	}
	products := Products()
	if want := strings.Count(strings.TrimSpace(productsCSV), "\n"); len(products) != want {
		t.Fatalf("%d products of %d rows", len(products), want)
	}
	for _, p := range products {
		if p.Vendor == "" || p.Family == "" || p.Architecture == "" || p.Name == "" || p.Year < 2015 || p.Source == "" {
			t.Errorf("%q is not complete: %+v", p.Name, p)
		}
		if len(p.Source) > 256 || len(p.Name) > 256 || len(p.Architecture) > 64 {
			t.Errorf("%q: a text is longer than the API allows", p.Name)
		}
		if confidence := p.Source[0]; confidence != 'A' && confidence != 'B' {
			t.Errorf("%q: source %q has no confidence letter", p.Name, p.Source)
		}
		if len(p.Performance.Peak) == 0 || p.Performance.MemoryBandwidthMBps == 0 || p.Performance.Source != p.Source {
			t.Errorf("%q: performance %+v", p.Name, p.Performance)
		}
		if p.MemoryMiB == 0 && !strings.HasPrefix(p.MemoryType, "shared ") {
			t.Errorf("%q has no memory but %q", p.Name, p.MemoryType)
		}
	}
}

// What was reported is the nominal memory less what is reserved of it, and says where it was seen.
func TestReportedMemory(t *testing.T) {
	records := strings.Split(strings.TrimSpace(reportedCSV), "\n")[1:]
	seen := 0
	for _, p := range Products() {
		if p.ReportedMiB == 0 {
			continue
		}
		seen++
		if p.ReportedMiB > p.MemoryMiB+p.MemoryMiB/32 || distance(p.ReportedMiB, p.MemoryMiB) > p.MemoryMiB/memoryTolerance {
			t.Errorf("%q: %d MiB reported of %d", p.Name, p.ReportedMiB, p.MemoryMiB)
		}
		if p.UsableMiB() != p.ReportedMiB {
			t.Errorf("%q: %d MiB to count on", p.Name, p.UsableMiB())
		}
	}
	if seen != len(records) {
		t.Errorf("%d products of %d records", seen, len(records))
	}
	for _, record := range records {
		if fields := strings.SplitN(record, ",", 3); len(fields) < 3 || !strings.HasPrefix(fields[2], "A:") {
			t.Errorf("%q says not where it was seen", record)
		}
	}
	for name, want := range map[string]int64{"NVIDIA L40S": 46068, "NVIDIA H100 80GB HBM3": 81559, "NVIDIA L4": 23034, "NVIDIA B200": 183359, "Tesla T4": 15360} {
		if product, _ := Lookup(Key{Product: name}); product.UsableMiB() != want {
			t.Errorf("%q: %d MiB, want %d", name, product.UsableMiB(), want)
		}
	}
}

func TestUnitsOfARow(t *testing.T) {
	got, ok := Lookup(Key{VendorID: "10de", DeviceID: "3182"})
	if !ok {
		t.Fatal("no B300")
	}
	source := "A:AIC systems/*.yaml@095f58a5; A:InferenceX gpu-specs.ts@77ca49a6"
	want := Product{
		Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Architecture: "Blackwell Ultra", Name: "NVIDIA B300 SXM6 AC",
		MemoryMiB: 275046, ReportedMiB: 275040, MemoryType: "HBM3e",
		Performance: v1alpha1.DevicePerformance{
			MemoryBandwidthMBps: 7_750_000,
			Peak: []v1alpha1.PeakRate{
				{Precision: v1alpha1.FP16, GFLOPS: 2_250_000},
				{Precision: v1alpha1.BF16, GFLOPS: 2_250_000},
				{Precision: v1alpha1.FP8, GFLOPS: 4_500_000},
				{Precision: v1alpha1.INT8, GFLOPS: 153_500},
				{Precision: v1alpha1.FP4, GFLOPS: 14_000_000},
			},
			Source: source,
		},
		Forms: []string{"sxm"}, Link: "NVLink5+NVSwitch4", LinkMBps: 900_000, LinkTopology: "NVSwitch 8",
		LinkKind: "NVLink", LinkGeneration: 5, Domain: Switched, DomainDevices: 8, DevicesPerNode: 8,
		HostLink: "PCIe6x16", HostLinkMBps: 121_008,
		TDPWatts: 1100, Year: 2025, Source: source,
		Notes: "275040 MiB reported; FP4 13500-14000 dense; INT8 cut to ~153 TOPS",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFamiliesAndArchitectures(t *testing.T) {
	tests := map[string]struct {
		family       v1alpha1.DeviceFamily
		architecture string
	}{
		"Tesla T4":                  {v1alpha1.FamilyGPU, "Turing"},
		"TPU v5e (v5 lite)":         {v1alpha1.FamilyTPU, "v5e"},
		"NVIDIA GB10":               {v1alpha1.FamilyGPU, "Blackwell"},
		"Orin (nvgpu) AGX 64GB":     {v1alpha1.FamilyGPU, "Ampere"},
		"TPU7x (Ironwood)":          {v1alpha1.FamilyTPU, "v7x"},
		"NPU4 (Lunar Lake)":         {v1alpha1.FamilyNPU, "NPU"},
		"Ascend 910B2":              {v1alpha1.FamilyNPU, "Ascend"},
		"HL-225 (Gaudi2)":           {v1alpha1.FamilyASIC, "Gaudi2"},
		"NeuronDevice (Trainium2)":  {v1alpha1.FamilyASIC, "Trainium2"},
		"Apple M3 Ultra":            {v1alpha1.FamilyGPU, "Apple Silicon"},
		"AI 100 Pro":                {v1alpha1.FamilyASIC, "Cloud AI 100"},
		"AMD Instinct MI355X":       {v1alpha1.FamilyGPU, "CDNA4"},
		"NeuronDevice (Inferentia)": {v1alpha1.FamilyASIC, "Inferentia"},
	}
	for name, want := range tests {
		got, _ := Lookup(Key{Product: name})
		if got.Family != want.family || got.Architecture != want.architecture {
			t.Errorf("%q: %s %s, want %s %s", name, got.Family, got.Architecture, want.family, want.architecture)
		}
	}
}

func TestBF16IsOnlyWhereTheHardwareHasIt(t *testing.T) {
	for name, want := range map[string]int64{"Tesla T4": 0, "Tesla V100-SXM2-32GB": 0, "Tesla P100-SXM2-16GB": 0, "AMD Radeon RX 6800": 0, "AMD Instinct MI100": 92_300, "NVIDIA L4": 121_000} {
		product, _ := Lookup(Key{Product: name})
		var got int64
		for _, rate := range product.Performance.Peak {
			if rate.Precision == v1alpha1.BF16 {
				got = rate.GFLOPS
			}
		}
		if got != want {
			t.Errorf("%q: BF16 at %d GFLOPS, want %d", name, got, want)
		}
	}
}

func TestProductsAreTheCallers(t *testing.T) {
	Products()[0].Performance.Peak[0].GFLOPS = -1
	if Products()[0].Performance.Peak[0].GFLOPS < 0 {
		t.Error("a change to what Products returned changed the catalogue")
	}
}

func TestParseRefuses(t *testing.T) {
	header, rest, _ := strings.Cut(productsCSV, "\n")
	first, _, _ := strings.Cut(rest, "\n")
	tests := map[string]struct{ products, aliases, want string }{
		"empty":           {"", aliasesCSV, "no header"},
		"missing column":  {strings.Replace(productsCSV, "tdp_w", "watts", 1), aliasesCSV, `no column "tdp_w"`},
		"unknown family":  {header + "\n" + strings.Replace(first, "Turing", "Curie", 1), "h\n", `family "Curie"`},
		"number":          {header + "\n" + strings.Replace(first, "320", "fast", 1), "h\n", `mem_bw_gb_s "fast"`},
		"negative number": {header + "\n" + strings.Replace(first, "320", "-1", 1), "h\n", `mem_bw_gb_s "-1"`},
		"not a number":    {header + "\n" + strings.Replace(first, "320", "NaN", 1), "h\n", `mem_bw_gb_s "NaN"`},
		"name twice":      {header + "\n" + first + "\n" + first, "h\n", "the name is taken"},
		"alias of no row": {header + "\n" + first, aliasesCSV, "no row of products.csv has this name"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse(test.products, test.aliases, "h\n")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// The columns that are computed with say what the source's words say.
func TestLinkColumnsAgreeWithTheSourcesWords(t *testing.T) {
	for _, p := range Products() {
		if p.Switched() != strings.Contains(p.Link, "NVSwitch") {
			t.Errorf("%q: link %q, link_domain %q", p.Name, p.Link, p.Domain)
		}
		if (p.Domain == Bridged) != strings.Contains(p.Link, "-way)") {
			t.Errorf("%q: link %q, link_domain %q", p.Name, p.Link, p.Domain)
		}
		for _, words := range []string{"GPU full mesh", "APU full mesh", "NPU full mesh", "all-to-all"} {
			if whole, _, found := strings.Cut(p.LinkTopology, words); found && !strings.Contains(whole, "/") && p.Domain != Meshed {
				t.Errorf("%q: link_topology %q, link_domain %q", p.Name, p.LinkTopology, p.Domain)
			}
		}
		if p.Domain != "" && !strings.Contains(p.LinkTopology+p.Link, strconv.Itoa(p.DomainDevices)) {
			t.Errorf("%q: link %q, link_topology %q, link_domain_devices %d", p.Name, p.Link, p.LinkTopology, p.DomainDevices)
		}
		if generation, found := strings.CutPrefix(p.Link, "NVLink"); found && generation[0] != '-' && !strings.HasPrefix(generation, strconv.Itoa(int(p.LinkGeneration))) {
			t.Errorf("%q: link %q, link_generation %d", p.Name, p.Link, p.LinkGeneration)
		}
		if len(p.HostLink) > len("PCIe") && strings.HasPrefix(p.HostLink, "PCIe") && p.HostLinkMBps == 0 {
			t.Errorf("%q: host_link %q has no rate", p.Name, p.HostLink)
		}
	}
}
