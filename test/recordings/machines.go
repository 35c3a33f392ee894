package main

import (
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// processor is a product as /proc/cpuinfo names it, with the cores of one and the threads of a core.
type processor struct {
	model          string
	cores, threads int
}

// Processors of several hosts.
var (
	epyc7543   = processor{"AMD EPYC 7543 32-Core Processor", 32, 2}
	epyc9354   = processor{"AMD EPYC 9354 32-Core Processor", 32, 2}
	epyc9575F  = processor{"AMD EPYC 9575F 64-Core Processor", 64, 2}
	ryzen7950X = processor{"AMD Ryzen 9 7950X 16-Core Processor", 16, 2}
	xeon8480C  = processor{"Intel(R) Xeon(R) Platinum 8480C", 56, 2}
)

// system is a kernel, by its release, with its distribution.
type system struct{ kernel, os string }

// ubuntu is a release with long-term support, and a build of its kernel.
func ubuntu(release, kernel string) system {
	return system{kernel + "-generic", "Ubuntu " + release + " LTS"}
}

// server is a maker's product with so many sockets of a processor.
func server(sockets int, p processor, memoryGiB int, s system, maker, product string) compose.Machine {
	vendor := "GenuineIntel"
	if strings.HasPrefix(p.model, "AMD ") {
		vendor = "AuthenticAMD"
	}
	return compose.Machine{
		Model: p.model, VendorID: vendor, Sockets: sockets, CoresPerSocket: p.cores, ThreadsPerCore: p.threads, MemoryGiB: memoryGiB,
		Kernel: s.kernel, OS: s.os, DMI: map[string]string{"sys_vendor": maker, "product_name": product},
	}
}
