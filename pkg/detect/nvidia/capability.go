package nvidia

import (
	"strconv"
	"strings"
)

// capabilityRanges maps PCI device ids to compute capability, since nvidia-smi's report and the driver's files do not
// print it. Sources: pci.ids for the chips' ranges (GP100, GV100, TU10x, GA100, GA10x, GH100, AD10x, GB100, GB10B, GB20x, GB110),
// NVIDIA's list of compute capabilities for the numbers.
var capabilityRanges = []struct {
	first, last uint64
	capability  string
}{
	{0x13c0, 0x13ff, "5.2"},  // GM204
	{0x15f0, 0x15ff, "6.0"},  // GP100
	{0x17c0, 0x17ff, "5.2"},  // GM200
	{0x1b00, 0x1d7f, "6.1"},  // GP102 to GP108
	{0x1d80, 0x1dff, "7.0"},  // GV100
	{0x1e00, 0x1fff, "7.5"},  // TU102 to TU117
	{0x2080, 0x20ff, "8.0"},  // GA100
	{0x2180, 0x21ff, "7.5"},  // TU116
	{0x2200, 0x22ff, "8.6"},  // GA102
	{0x2300, 0x23ff, "9.0"},  // GH100
	{0x2400, 0x25ff, "8.6"},  // GA103 to GA107
	{0x2680, 0x28ff, "8.9"},  // AD102 to AD107
	{0x2900, 0x297f, "10.0"}, // GB100, GB102
	{0x2b00, 0x2b7f, "11.0"}, // GB10B (Thor)
	{0x2b80, 0x2dff, "12.0"}, // GB202 to GB207
	{0x2e00, 0x2e7f, "12.1"}, // GB20B (GB10)
	{0x2f00, 0x2f7f, "12.0"}, // GB205
	{0x3180, 0x31ff, "10.3"}, // GB110, GB112
}

// integratedCapabilities are the compute capabilities of GPUs that are a part of a processor and work in its memory: Jetson
// from Nano to Thor, which drivers before 580 count as 10.1, and GB10 (NVIDIA's list of compute capabilities).
var integratedCapabilities = map[string]bool{"5.3": true, "6.2": true, "7.2": true, "8.7": true, "10.1": true, "11.0": true, "12.1": true}

// capabilityArchitectures are the architectures of compute capabilities, by the whole number or its major part (NVIDIA, CUDA C++
// Programming Guide).
var capabilityArchitectures = map[string]string{
	"5": "Maxwell", "6": "Pascal", "7": "Volta", "7.5": "Turing", "8": "Ampere", "8.9": "Ada", "9": "Hopper",
	"10": "Blackwell", "10.3": "Blackwell Ultra", "11": "Blackwell", "12": "Blackwell",
}

// architectureOf is the architecture of a compute capability; empty where it is not known.
func architectureOf(capability string) string {
	if name, ok := capabilityArchitectures[capability]; ok {
		return name
	}
	major, _, _ := strings.Cut(capability, ".")
	return capabilityArchitectures[major]
}

// computeCapability returns the compute capability of a PCI device id; empty where the chip is not known.
func computeCapability(deviceID string) string {
	id, err := strconv.ParseUint(deviceID, 16, 16)
	if err != nil {
		return ""
	}
	for _, r := range capabilityRanges {
		if id >= r.first && id <= r.last {
			return r.capability
		}
	}
	return ""
}
