package accelerator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// parseProduct reads a record of products.csv.
func parseProduct(column record) (*row, error) {
	p := numbers{column: column}
	family := column("family")
	generation, ok := architectures[family]
	if !ok {
		return nil, fmt.Errorf("family %q: add it to the architectures with its kind of processor", family)
	}
	sizes := p.sizes("memory_gib")
	r := &row{sizes: sizes, Product: Product{
		Vendor:       strings.ToLower(column("vendor")),
		Family:       generation.family,
		Architecture: family,
		Name:         column("product_name_as_reported"),
		MemoryType:   column("memory_type"),
		Performance:  p.performance(generation.bf16Percent),
		Forms:        strings.Fields(column("form")),
		Link:         column("link"),
		LinkKind:     column("link_kind"),
		LinkMBps:     p.scaled("link_gb_s_per_device_one_direction", 1000),
		LinkTopology: column("link_topology"),
		Domain:       Domain(column("link_domain")),
		HostLink:     column("host_link"),
		HostLinkMBps: p.scaled("host_link_gb_s_one_direction", 1000),
		Source:       column("confidence_source"),
		Notes:        column("notes"),

		LinkGeneration: int32(p.scaled("link_generation", 1)),
		DomainDevices:  int(p.scaled("link_domain_devices", 1)),
		DevicesPerNode: cmp.Or(int(p.scaled("devices_per_node", 1)), usualOn(column("host_link"))),
		TDPWatts:       int32(p.scaled("tdp_w", 1)),
		Year:           int32(p.scaled("year", 1)),
	}}
	if !slices.Contains([]Domain{"", Switched, Meshed, Bridged, Racked}, r.Domain) || (r.Domain != "" && r.DomainDevices < 2) {
		return nil, fmt.Errorf("link_domain %q of %d devices: write Switch, Mesh, Bridge or Rack with a number in link_domain_devices, or leave it empty",
			r.Domain, r.DomainDevices)
	}
	r.MemoryMiB = r.nominal(0)
	if generation.family == v1alpha1.FamilyTPU {
		r.Architecture = tpuGeneration(r.Name)
	}
	return r, p.err
}

// tpuGeneration is the generation in a TPU's name: v5e of `TPU v5e (v5 lite)`, v7x of `TPU7x (Ironwood)`.
func tpuGeneration(product string) string {
	generation, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(product, "TPU")), " ")
	return "v" + strings.TrimPrefix(generation, "v")
}

// numbers reads a record's numbers and keeps the first error.
type numbers struct {
	column record
	err    error
}

// maxNumber is above every figure in the data and keeps the scaled ones inside an int64, the others inside an int32.
const maxNumber = 1e9

// scaled is the number in the column times the scale, rounded; 0 where the column is empty.
func (p *numbers) scaled(column string, scale float64) int64 {
	return p.number(column, p.column(column), scale)
}

func (p *numbers) number(column, text string, scale float64) int64 {
	if text == "" {
		return 0
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(value) || value < 0 || value > maxNumber {
		if p.err == nil {
			p.err = fmt.Errorf("%s %q: write a decimal number from 0 to %.0f", column, text, maxNumber)
		}
		return 0
	}
	return int64(math.Round(value * scale))
}

// sizes reads memory sizes in GiB, several divided by slashes, and returns them in MiB, ascending.
func (p *numbers) sizes(column string) []int64 {
	var sizes []int64
	for text := range strings.SplitSeq(p.column(column), "/") {
		if size := p.number(column, text, 1024); size > 0 {
			sizes = append(sizes, size)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// performance reads the peak rates: TFLOPS and TOPS become 10^9 operations, GB become MB. The rate of BF16 is a share of that
// of FP16.
func (p *numbers) performance(bf16Percent int64) v1alpha1.DevicePerformance {
	half := p.scaled("fp16_bf16_dense_tflops", 1000)
	bf16 := half * bf16Percent / 100
	rates := []v1alpha1.PeakRate{
		{Precision: v1alpha1.FP16, GFLOPS: half},
		{Precision: v1alpha1.BF16, GFLOPS: bf16},
		{Precision: v1alpha1.FP8, GFLOPS: p.scaled("fp8_dense_tflops", 1000)},
		{Precision: v1alpha1.INT8, GFLOPS: p.scaled("int8_dense_tops", 1000)},
		{Precision: v1alpha1.FP4, GFLOPS: p.scaled("fp4_dense_tflops", 1000)},
	}
	return v1alpha1.DevicePerformance{
		MemoryBandwidthMBps: p.scaled("mem_bw_gb_s", 1000),
		Peak:                slices.Clip(slices.DeleteFunc(rates, func(r v1alpha1.PeakRate) bool { return r.GFLOPS == 0 })),
		Source:              p.column("confidence_source"),
	}
}
