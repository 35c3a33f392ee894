package main

import (
	"fmt"
	"path"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// nvidiaProduct is what all GPUs of a product have in common.
type nvidiaProduct struct {
	name, ids, class, architecture, vbios, link string
	memoryMiB, reservedMiB                      int
	fabric                                      bool
	// migMode is what nvidia-smi says of the MIG mode while it is off; empty where the product has none.
	migMode string
}

const (
	gen3x16 = "8.0 GT/s PCIe x16"
	gen4x16 = "16.0 GT/s PCIe x16"
	gen5x16 = "32.0 GT/s PCIe x16"
)

var (
	v100 = nvidiaProduct{
		name: "Tesla V100-SXM2-32GB", ids: "10de:1db5 10de:1249", class: "030200", architecture: "Volta", vbios: "88.00.4F.00.09",
		link: gen3x16, memoryMiB: 32768, reservedMiB: 271,
	}
	t4 = nvidiaProduct{
		name: "Tesla T4", ids: "10de:1eb8 10de:12a2", class: "030200", architecture: "Turing", vbios: "90.04.96.00.02",
		link: gen3x16, memoryMiB: 15360, reservedMiB: 449,
	}
	a10 = nvidiaProduct{
		name: "NVIDIA A10", ids: "10de:2236 10de:1482", class: "030200", architecture: "Ampere", vbios: "94.02.75.00.01",
		link: gen4x16, memoryMiB: 23028, reservedMiB: 512,
	}
	a100 = nvidiaProduct{
		name: "NVIDIA A100-SXM4-40GB", ids: "10de:20b0 10de:134f", class: "030200", architecture: "Ampere", vbios: "92.00.45.00.03",
		link: gen4x16, memoryMiB: 40960, reservedMiB: 510, migMode: "Disabled",
	}
	a100PCIe = nvidiaProduct{
		name: "NVIDIA A100 80GB PCIe", ids: "10de:20b5 10de:1533", class: "030200", architecture: "Ampere", vbios: "92.00.90.00.07",
		link: gen4x16, memoryMiB: 81920, reservedMiB: 641, migMode: "Disabled",
	}
	l4 = nvidiaProduct{
		name: "NVIDIA L4", ids: "10de:27b8 10de:16ee", class: "030200", architecture: "Ada Lovelace", vbios: "95.04.65.00.02",
		link: gen4x16, memoryMiB: 23034, reservedMiB: 457,
	}
	l40s = nvidiaProduct{
		name: "NVIDIA L40S", ids: "10de:26b9 10de:1851", class: "030200", architecture: "Ada Lovelace", vbios: "95.02.66.00.02",
		link: gen4x16, memoryMiB: 46068, reservedMiB: 609,
	}
	rtx4090 = nvidiaProduct{
		name: "NVIDIA GeForce RTX 4090", ids: "10de:2684 10de:167c", class: "030000", architecture: "Ada Lovelace", vbios: "95.02.3C.80.E4",
		link: gen4x16, memoryMiB: 24564, reservedMiB: 357,
	}
	h100SXM = nvidiaProduct{
		name: "NVIDIA H100 80GB HBM3", ids: "10de:2330 10de:16c1", class: "030200", architecture: "Hopper", vbios: "96.00.A5.00.01",
		link: gen5x16, memoryMiB: 81559, reservedMiB: 480, fabric: true,
	}
	h200 = nvidiaProduct{
		name: "NVIDIA H200", ids: "10de:2335 10de:18be", class: "030200", architecture: "Hopper", vbios: "96.00.B7.00.01",
		link: gen5x16, memoryMiB: 143771, reservedMiB: 612, fabric: true,
	}
	gh200 = nvidiaProduct{
		name: "NVIDIA GH200 480GB", ids: "10de:2342 10de:16eb", class: "030200", architecture: "Hopper", vbios: "96.00.84.00.02",
		link: gen5x16, memoryMiB: 97871, reservedMiB: 567, migMode: "Disabled",
	}
	b200 = nvidiaProduct{
		name: "NVIDIA B200", ids: "10de:2901 10de:1999", class: "030200", architecture: "Blackwell", vbios: "97.00.FA.00.09",
		link: gen5x16, memoryMiB: 183359, reservedMiB: 718, fabric: true,
	}
	gb200 = nvidiaProduct{
		name: "NVIDIA GB200", ids: "10de:2941 10de:2046", class: "030200", architecture: "Blackwell", vbios: "97.00.B9.00.76",
		link: gen5x16, memoryMiB: 189471, reservedMiB: 722, fabric: true,
	}
	rtxPRO6000 = nvidiaProduct{
		name: "NVIDIA RTX PRO 6000 Blackwell Server Edition", ids: "10de:2bb5 10de:204e", class: "030200", architecture: "Blackwell",
		vbios: "98.02.8A.00.01", link: gen5x16, memoryMiB: 97887, reservedMiB: 636, migMode: "Disabled",
	}
)

// at is a GPU of the product, by its number, at a place on the bus; host tells the UUIDs of hosts apart.
func (p nvidiaProduct) at(host byte, index int, place string, numa int) nvidiaGPU {
	return nvidiaGPU{
		Function: compose.Function{
			Place: place, IDs: p.ids, Class: p.class, Revision: "a1", Driver: "nvidia", NUMA: numa, Link: p.link,
		},
		Product: p.name, Architecture: p.architecture, UUID: nvidiaUUID(host, index), VBIOS: p.vbios,
		Index: index, MemoryMiB: p.memoryMiB, ReservedMiB: p.reservedMiB, Fabric: p.fabric, MIGMode: p.migMode,
	}
}

// rootPort is the place of a device behind a root port of its own host bridge.
func rootPort(bus int) string {
	return fmt.Sprintf("pci0000:%02x/0000:%02x:01.1/0000:%02x:00.0", bus-1, bus-1, bus)
}

// addBridges adds the bridges above a device that the host does not have yet.
func addBridges(h *compose.Host, seen map[string]bool, f compose.Function, ids string) {
	steps := strings.Split(path.Dir(f.Place), "/")
	for i := range steps {
		place := strings.Join(steps[:i+1], "/")
		if strings.HasPrefix(steps[i], "pci") || !strings.Contains(steps[i], ".") || seen[place] {
			continue
		}
		seen[place] = true
		h.PCI(compose.Bridge(place, ids, f.Link, f.NUMA))
	}
}

// withBridges adds the bridges above all GPUs.
func withBridges(h *compose.Host, ids string, gpus []nvidiaGPU) {
	seen := map[string]bool{}
	for _, g := range gpus {
		addBridges(h, seen, g.Function, ids)
	}
}
