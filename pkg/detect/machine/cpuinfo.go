package machine

import (
	"cmp"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// readCPU reads the processors. What /proc/cpuinfo does not tell (sockets and cores on Arm) comes from sysfs.
func readCPU(files host.Files) (v1alpha1.CPU, error) {
	text, _, err := host.ReadText(files, "/proc/cpuinfo")
	cpu := parseCPUInfo(text)
	if machine, _, _ := host.ReadText(files, "/proc/sys/kernel/arch"); goArchitectures[machine] != "" {
		cpu.Architecture = goArchitectures[machine]
	}
	if cpu.Cores == 0 || cpu.Sockets == 0 || cpu.Threads == 0 {
		threads, cores, sockets := readCPUTopology(files)
		cpu.Threads = cmp.Or(cpu.Threads, threads)
		cpu.Cores, cpu.Sockets = cmp.Or(cores, cpu.Cores), cmp.Or(sockets, cpu.Sockets)
	}
	if err == nil && cpu.Threads == 0 {
		err = fmt.Errorf("/proc/cpuinfo: names no processor")
	}
	return cpu, err
}

// goArchitectures is by the machine name of uname(2).
var goArchitectures = map[string]string{
	"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le", "s390x": "s390x", "riscv64": "riscv64", "loongarch64": "loong64",
}

// cpuInfoArchitectures is by a key that /proc/cpuinfo has only there.
var cpuInfoArchitectures = map[string]string{
	"cpu family": "amd64", "CPU implementer": "arm64", "isa": "riscv64", "bogomips per cpu": "s390x",
}

// armModels is by implementer and part of MIDR_EL1, since Arm kernels print no model name; numbers as in Linux's
// arch/arm64/include/asm/cputype.h.
var armModels = map[string]string{
	"0x41 0xd0c": "Arm Neoverse N1", "0x41 0xd40": "Arm Neoverse V1", "0x41 0xd49": "Arm Neoverse N2",
	"0x41 0xd4f": "Arm Neoverse V2", "0x41 0xd84": "Arm Neoverse V3", "0x41 0xd8e": "Arm Neoverse N3",
	"0xc0 0xac3": "Ampere-1", "0xc0 0xac4": "Ampere-1a",
}

// parseCPUInfo reads the text of /proc/cpuinfo: a paragraph of `key : value` lines for each thread. What the
// architecture does not print stays zero.
func parseCPUInfo(text string) v1alpha1.CPU {
	var cpu v1alpha1.CPU
	sockets, cores := map[string]bool{}, map[string]bool{}
	var socket, implementer string
	for key, value := range host.Pairs(text, ":") {
		if architecture := cpuInfoArchitectures[key]; architecture != "" && cpu.Architecture == "" {
			cpu.Architecture = architecture
		}
		switch key {
		case "processor":
			cpu.Threads++
		case "model name":
			cpu.Model = cmp.Or(cpu.Model, value)
		case "physical id":
			socket = value
			sockets[socket] = true
		case "core id": // unique within its socket only
			cores[socket+" "+value] = true
		case "CPU implementer":
			implementer = value
		case "CPU part":
			cpu.Model = cmp.Or(cpu.Model, armModels[implementer+" "+value])
		}
	}
	cpu.Sockets, cpu.Cores = int32(len(sockets)), int32(len(cores))
	return cpu
}

const cpuFolder = "/sys/devices/system/cpu"

// readCPUTopology counts online threads, cores and sockets in sysfs; an offline thread has no topology folder.
func readCPUTopology(files host.Files) (threads, cores, sockets int32) {
	numbers, _ := host.ReadNumbered(files, cpuFolder, "cpu")
	type core struct{ socket, id int64 }
	coresSeen, socketsSeen := map[core]bool{}, map[int64]bool{}
	for _, number := range numbers {
		folder := fmt.Sprintf("%s/cpu%d/topology", cpuFolder, number)
		socket, ok, err := host.ReadInt(files, folder+"/physical_package_id")
		if !ok || err != nil {
			continue
		}
		threads++
		socketsSeen[socket] = true
		if id, ok, err := host.ReadInt(files, folder+"/core_id"); ok && err == nil {
			coresSeen[core{socket, id}] = true
		}
	}
	return threads, int32(len(coresSeen)), int32(len(socketsSeen))
}
