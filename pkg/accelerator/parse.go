package accelerator

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// families says what kind of processor an architecture of the data is; a row of an architecture that is not here is
// refused.
var families = map[string]v1alpha1.DeviceFamily{
	"Turing": v1alpha1.FamilyGPU, "Volta": v1alpha1.FamilyGPU, "Ampere": v1alpha1.FamilyGPU, "Ada": v1alpha1.FamilyGPU,
	"Hopper": v1alpha1.FamilyGPU, "Blackwell": v1alpha1.FamilyGPU, "Blackwell Ultra": v1alpha1.FamilyGPU,
	"Jetson": v1alpha1.FamilyGPU, "GB10": v1alpha1.FamilyGPU, "GCN4": v1alpha1.FamilyGPU, "GCN5": v1alpha1.FamilyGPU, "GCN5.1": v1alpha1.FamilyGPU, "CDNA1": v1alpha1.FamilyGPU,
	"CDNA2": v1alpha1.FamilyGPU, "CDNA3": v1alpha1.FamilyGPU, "CDNA4": v1alpha1.FamilyGPU, "RDNA3": v1alpha1.FamilyGPU,
	"RDNA4": v1alpha1.FamilyGPU, "Ponte Vecchio": v1alpha1.FamilyGPU, "Alchemist": v1alpha1.FamilyGPU,
	"Battlemage": v1alpha1.FamilyGPU, "Apple Silicon": v1alpha1.FamilyGPU,
	"TPU": v1alpha1.FamilyTPU,
	"NPU": v1alpha1.FamilyNPU, "XDNA1": v1alpha1.FamilyNPU, "XDNA2": v1alpha1.FamilyNPU, "Ascend": v1alpha1.FamilyNPU,
	"Gaudi2": v1alpha1.FamilyASIC, "Gaudi3": v1alpha1.FamilyASIC, "Inferentia": v1alpha1.FamilyASIC,
	"Inferentia2": v1alpha1.FamilyASIC, "Trainium": v1alpha1.FamilyASIC, "Trainium2": v1alpha1.FamilyASIC,
	"Trainium3": v1alpha1.FamilyASIC, "Cloud AI 100": v1alpha1.FamilyASIC, "WSE-2": v1alpha1.FamilyASIC,
	"WSE-3": v1alpha1.FamilyASIC, "Mk2": v1alpha1.FamilyASIC, "Bow": v1alpha1.FamilyASIC, "LPU v1": v1alpha1.FamilyASIC,
	"Wormhole": v1alpha1.FamilyASIC, "Blackhole": v1alpha1.FamilyASIC, "Mk1": v1alpha1.FamilyASIC,
	"Warboy": v1alpha1.FamilyNPU, "RNGD": v1alpha1.FamilyNPU,
}

// bf16Percent is the rate of BF16 as a share of the row's FP16 rate where it is not the same: none before Ampere and on
// GCN, half of it on CDNA1 (AMD, CDNA whitepaper).
var bf16Percent = map[string]int64{"Turing": 0, "Volta": 0, "GCN4": 0, "GCN5": 0, "GCN5.1": 0, "CDNA1": 50}

// parseProduct reads a record of products.csv.
func parseProduct(column func(string) string) (*row, error) {
	p := numbers{column: column}
	architecture := column("family")
	family, ok := families[architecture]
	if !ok {
		return nil, fmt.Errorf("family %q: add it to the families with its kind of processor", architecture)
	}
	sizes := p.sizes("memory_gib")
	r := &row{sizes: sizes, Product: Product{
		Vendor:       strings.ToLower(column("vendor")),
		Family:       family,
		Architecture: architecture,
		Name:         column("product_name_as_reported"),
		MemoryType:   column("memory_type"),
		Performance:  p.performance(architecture),
		Link:         column("link"),
		LinkMBps:     p.scaled("link_gb_s_per_device_one_direction", 1000),
		LinkTopology: column("link_topology"),
		HostLink:     column("host_link"),
		TDPWatts:     int32(p.scaled("tdp_w", 1)),
		Year:         int32(p.scaled("year", 1)),
		Source:       column("confidence_source"),
		Notes:        column("notes"),
	}}
	r.MemoryMiB = r.nominal(0)
	if family == v1alpha1.FamilyTPU {
		r.Architecture = tpuGeneration(r.Name)
	}
	return r, p.err
}

// tpuGeneration is the generation in a TPU's name: v5e of `TPU v5e (v5 lite)`.
func tpuGeneration(product string) string {
	generation, _, _ := strings.Cut(strings.TrimPrefix(product, "TPU "), " ")
	return generation
}

// numbers reads a record's numbers and keeps the first error.
type numbers struct {
	column func(string) string
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

// performance reads the peak rates: TFLOPS and TOPS become 10^9 operations, GB become MB.
func (p *numbers) performance(architecture string) v1alpha1.DevicePerformance {
	half := p.scaled("fp16_bf16_dense_tflops", 1000)
	bf16 := half
	if percent, ok := bf16Percent[architecture]; ok {
		bf16 = half * percent / 100
	}
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
