package price

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func load(t *testing.T) *Table {
	t.Helper()
	table, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// unspecified are instances of which no source at hand says what they have beside their devices.
var unspecified = []string{"ct5p-hightpu-4t", "ct6e-standard-8t"}

func TestBuiltInTable(t *testing.T) {
	shapes := load(t).Shapes()
	providers, products := map[string]bool{}, map[string]bool{}
	for i := range shapes {
		s := &shapes[i]
		providers[s.Provider], products[s.Product] = true, true
		if address, err := url.Parse(s.Source); err != nil || address.Scheme != "https" {
			t.Errorf("%s %s: source %q: want an address", s.Provider, s.Instance, s.Source)
		}
		if address, err := url.Parse(s.Specification); s.Specification != "" && (err != nil || address.Scheme != "https" || s.VCPUs == 0) {
			t.Errorf("%s %s: specification %q of %d vCPUs: want an address, and what was read there", s.Provider, s.Instance, s.Specification, s.VCPUs)
		}
		// Of accelerators sold since 2017, none rents for less than 0.3 or more than 30 USD an hour.
		if p := s.PerDeviceHour(); p < 300_000 || p > 30_000_000 {
			t.Errorf("%s %s: %d micro-USD for a device", s.Provider, s.Instance, p)
		}
	}
	for _, provider := range []string{"AWS", "Azure", "CoreWeave", "GCP", "Lambda", "OCI", "RunPod"} {
		if !providers[provider] {
			t.Errorf("no shape of %s", provider)
		}
	}
	for _, instance := range []string{
		"g5.xlarge", "g6.48xlarge", "trn1.32xlarge", "inf2.48xlarge", "g2-standard-96", "a2-ultragpu-8g", "ct5lp-hightpu-8t", "ct5p-hightpu-4t",
		"ct6e-standard-8t", "Standard_ND96isr_MI300X_v5",
	} {
		at := slices.IndexFunc(shapes, func(s Shape) bool { return s.Instance == instance })
		if at < 0 {
			t.Errorf("no %s", instance)
		} else if s := shapes[at]; (s.VCPUs == 0 || s.MemoryGiB == 0) && !slices.Contains(unspecified, instance) {
			t.Errorf("%s has %d vCPUs and %g GiB of memory", instance, s.VCPUs, s.MemoryGiB)
		}
	}
	for _, product := range []string{"NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA B200", "NVIDIA L40S", "AMD Instinct MI300X"} {
		if !products[product] {
			t.Errorf("no shape with %s", product)
		}
	}
}

const small = `
shapes:
- {provider: A, instance: big, region: any, product: NVIDIA H200, devices: 8, usdPerHour: 24.0000004, source: "https://a", date: "2026-01-02"}
- {provider: A, instance: one, region: any, product: nvidia h200, devices: 1, usdPerHour: 3.5, source: "https://a", date: "2026-01-02"}
- {provider: B, instance: two, region: any, product: NVIDIA H200, devices: 3, usdPerHour: 10, source: "https://b", date: "2026-01-03"}
`

func TestPerDeviceHour(t *testing.T) {
	table, err := Parse([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	got, ok := table.PerDeviceHour("NVIDIA H200")
	want := Price{MicroUSDPerHour: 3_000_000, Source: "https://a", Date: "2026-01-02", Instance: "A big"}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("cheapest (-want +got):\n%s", diff)
	}
	if _, ok := table.PerDeviceHour("NVIDIA B200"); ok {
		t.Error("a price for a product that no row has")
	}
}

// TestReportedNames holds that a price is found under every name that a driver reports.
func TestReportedNames(t *testing.T) {
	table := load(t)
	names := []string{"AMD Instinct MI300X OAM", "H100 80GB HBM3"}
	for _, s := range table.Shapes() {
		names = append(names, s.Product, strings.ToLower(s.Product), strings.ToUpper(s.Product))
	}
	for _, reported := range names {
		if _, ok := table.PerDeviceHour(reported); !ok {
			t.Errorf("no price of %s", reported)
		}
	}
}

func TestShapesAreTheCallers(t *testing.T) {
	table := load(t)
	first := table.Shapes()
	first[0].Provider = "changed"
	if table.Shapes()[0].Provider == "changed" {
		t.Error("a caller changed the table")
	}
}

func TestParseRefuses(t *testing.T) {
	good := `{provider: A, instance: x, region: any, product: NVIDIA H200, devices: 8, usdPerHour: 24, source: "https://a", date: "2026-01-02"}`
	change := func(old, with string) string { return "shapes: [" + strings.Replace(good, old, with, 1) + "]" }
	for _, tt := range []struct{ name, data, want string }{
		{"nothing", "shapes: []", "shapes: empty"},
		{"no list", "shapes: 3", "prices:"},
		{"unknown field", change("devices", "gpus"), "gpus"},
		{"provider", change("provider: A", `provider: " "`), "shapes[0].provider: empty"},
		{"product", change("NVIDIA H200", "H2000"), `product: device "H2000"`},
		{"devices", change("8", "0"), "devices: 0"},
		{"price", change("24", "-1"), "usdPerHour"},
		{"processors", change("devices", "vcpus: -1, devices"), "shapes[0].vcpus: -1: set it to a number from 0"},
		{"memory", change("devices", "memoryGiB: 1e9, devices"), "memoryGiB: 1e+09"},
		{"network", change("devices", "networkGbps: -0.5, devices"), "networkGbps: -0.5"},
		{"no number", change("24", ".nan"), "prices:"},
		{"date", change("2026-01-02", "yesterday"), `date: "yesterday"`},
		{"twice", "shapes: [" + good + "," + good + "]", "twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Parse([]byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Parse(data)
		if err != nil {
			return
		}
		shapes := table.Shapes()
		if !slices.IsSortedFunc(shapes, order) {
			t.Error("not sorted")
		}
		for i := range shapes {
			if p := shapes[i].PerDeviceHour(); p < 0 || p > math.MaxInt64/2 {
				t.Errorf("price %d of %+v", p, shapes[i])
			}
		}
	})
}
