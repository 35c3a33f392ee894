package main

import (
	"fmt"
	"testing"

	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// BenchmarkDetect is a whole detection on recorded hosts of so many GPUs, by what the kernel shows alone and with what
// nvidia-smi prints: what it costs beside the system's own time for reading files and running tools.
func BenchmarkDetect(b *testing.B) {
	for _, count := range []int{0, 8, 64, 256} {
		h := serverHost(b, count)
		b.Run(fmt.Sprintf("%d/kernel", count), func(b *testing.B) {
			benchmark(b, &host.Host{Files: h.Files}, count)
		})
		b.Run(fmt.Sprintf("%d/tools", count), func(b *testing.B) { benchmark(b, h, count) })
	}
}

// BenchmarkDetectLive is a whole detection on this machine, as far as it runs no tool.
func BenchmarkDetectLive(b *testing.B) {
	h, err := host.LiveHost("/", nil)
	if err != nil {
		b.Skip(err)
	}
	count := len(detect.Detect(b.Context(), h, detect.Options{}).Status.Devices)
	benchmark(b, h, count)
}

func benchmark(b *testing.B, h *host.Host, count int) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if status := detect.Detect(b.Context(), h, detect.Options{}).Status; len(status.Devices) != count {
			b.Fatalf("%d devices, want %d", len(status.Devices), count)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(1, count)), "ns/device")
}

// serverHost is a server of two sockets with its bridges, ports and disks, and so many GPUs behind PCIe switches, each in
// a PCI domain for every 64.
func serverHost(b *testing.B, count int) *host.Host {
	b.Helper()
	h := compose.New("for benchmarks")
	h.Machine(hopperMachine())
	for i := range 160 {
		class, driver := "060400", "pcieport"
		if i%8 == 7 {
			class, driver = "020000", "mlx5_core"
		}
		h.PCI(compose.Function{
			Place: fmt.Sprintf("pci00f0:%02x/00f0:%02x:00.0", i, i), IDs: "8086:1bb8 8086:0000", Class: class, Revision: "11",
			Driver: driver, NUMA: i / 80, Link: gen4x16,
		})
	}
	machine := nvidiaHost{Driver: "580.105.08", CUDA: "13.0", Links: 18, LinkRate: "26.562"}
	for i := range count {
		domain, bus := i/64, i%64*4
		place := fmt.Sprintf("pci%04x:%02x/%04x:%02x:00.0/%04x:%02x:00.0/%04x:%02x:00.0/%04x:%02x:00.0",
			domain, bus, domain, bus, domain, bus+1, domain, bus+2, domain, bus+3)
		machine.GPUs = append(machine.GPUs, h100SXM.at(0x40, i, place, i*2/max(1, count)))
	}
	withBridges(h, "1000:c030 1000:1004", machine.GPUs)
	if count > 0 {
		addNVIDIA(h, machine)
	}
	h.AllowCommands()
	if err := h.Err(); err != nil {
		b.Fatal(err)
	}
	return h.Host()
}
