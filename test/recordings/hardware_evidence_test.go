package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// captured are the captures of real hosts, by backend, with the product of each, that tests of pkg/detect and of this package
// replay: files below captures/ of the folder that RANKWRIGHT_SHARED names.
var captured = map[string]map[string]string{
	"amd": {
		"drm-sysfs/amd-rx580": "AMD Radeon RX 580", "drm-sysfs/amd-rx7800xt": "AMD Radeon RX 7800 XT", "drm-sysfs/amd-rx7900xtx": "AMD Radeon RX 7900 XTX",
		"drm-sysfs/amd-vega56": "AMD Radeon RX Vega 56", "rocm-kfd/topo-mi210-xgmi-pcie": "AMD Instinct MI210", "rocm-kfd/topo-mi300-cpx": "AMD Instinct MI300X",
		"recordings/lact-amd-phoenix": "AMD Radeon 780M", "recordings/lact-amd-strixpoint": "AMD Radeon 890M", "recordings/lact-amd-vangogh": "AMD Van Gogh",
		"recordings/lact-amd-rx6900xt": "AMD Radeon RX 6900 XT", "recordings/amd-mi308x-cpx-nokfd": "AMD Instinct MI308X OAM",
	},
	"intel-gpu": {
		"drm-sysfs/intel-a380-i915": "Intel Arc A380", "drm-sysfs/intel-a380-xe": "Intel Arc A380", "drm-sysfs/intel-b580": "Intel Arc B580",
	},
	"nvidia": {
		"nvidia-smi/linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05": "NVIDIA GeForce RTX 4080 SUPER",
		"nvidia-smi/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01":         "NVIDIA H100 80GB HBM3", "nvidia-smi/linux-x86_64__nvidia-h100-mig__590.48.01": "NVIDIA H100 80GB HBM3",
		"nvidia-smi/linux-x86_64__nvidia-l40s__595.80": "NVIDIA L40S", "nvidia-smi/qx-a100": "NVIDIA A100-SXM4-40GB", "nvidia-smi/qx-b200": "NVIDIA B200",
		"nvidia-smi/qx-h100": "NVIDIA H100 80GB HBM3", "nvidia-smi/qx-l40s": "NVIDIA L40S", "nvidia-smi/qx-t4": "Tesla T4", "pci-sysfs/linux-amd64-accel-nvidia": "",
	},
}

// installed are the recordings of the hosts that nodes play in end-to-end tests, with what those tests show of them.
var installed = map[string]string{
	"nvidia-nvml-h100-8": "with `agent.nvml.enabled`: memory, health, XID, ECC, a lost GPU, MIG, a driver upgrade",
	"nvidia-h100-8":      "without the driver: inventory, pods by device nodes",
	"gaudi2-8":           "with `hl-smi`: memory, health",
	"huawei-910b2-8":     "with `npu-smi`: memory, health",
	"aws-trn2-48xlarge":  "with `neuron-ls`: memory, device nodes",
	"amd-mi300x-8":       "by files alone: memory, health, pods by CDI and by claims",
	"google-v5p-4":       "by files alone: pods by device nodes",
}

// writeProducts writes a table of the products with what each rests on.
func (k *knowledge) writeProducts(b *strings.Builder, backend string) {
	captures := map[string]int{}
	for _, product := range captured[backend] {
		if product != "" {
			captures[product]++
			k.at(product)
		}
	}
	if len(k.products) == 0 {
		return
	}
	b.WriteString("\n| Product | Real captures | Composed recordings | As installed |\n|---|---|---|---|\n")
	for _, product := range slices.Sorted(maps.Keys(k.products)) {
		var shown []string
		for _, recording := range slices.Sorted(maps.Keys(k.products[product])) {
			if what := installed[recording]; what != "" {
				shown = append(shown, what)
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", product, count(captures[product]), count(len(k.products[product])), cmp.Or(strings.Join(shown, "; "), "-"))
	}
}

func count(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
