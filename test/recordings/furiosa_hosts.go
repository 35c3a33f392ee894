package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["furiosa-rngd-8"] = rngdHost
	recordings["furiosa-warboy-2"] = warboyHost
}

const furiosaSources = `
PCI ids are those of pci.ids; classes, files and names of nodes those of furiosa-ai/device-api and furiosa-ai/furiosa-smi-go;
the addresses of the RNGDs, the driver's name and version and the fields and numbers of furiosa-smi's status are those that
users print in public notes. UUIDs, sensor values, the NUMA nodes and the name of Warboy's driver are made up.`

// rngdHost has 8 cards, four behind a switch of each socket; the status of two of them shows work.
func rngdHost() *compose.Host {
	h := compose.New("A host with 8 FuriosaAI RNGD.\n" + furiosaSources)
	h.Machine(server(2, epyc9354, 1536, ubuntu("24.04.4", "6.8.0-136"), "Supermicro", "AS -4125GS-TNRT"))
	var status []string
	for i, bus := range []int{0x8b, 0x8c, 0x8d, 0x8e, 0x94, 0x95, 0x96, 0x97} {
		f := compose.Function{
			Place: fmt.Sprintf("pci0000:80/0000:80:01.1/0000:%02x:00.0", bus), IDs: "1ed2:0001 1ed2:0001", Class: "120000", Revision: "01", Driver: "furiosa_rngd", NUMA: 1, Link: "32.0 GT/s PCIe x16",
		}
		h.PCI(f)
		name := fmt.Sprint("npu", i)
		addClassDevice(h, f.Folder(), "rngd_mgmt", "rngd!"+name+"mgmt", "rngd/"+name+"mgmt", map[string]string{
			"busname": f.Address(), "dev": fmt.Sprint("235:", 32*i), "device_uuid": fmt.Sprintf("C0413086-0708-4606-8000-%012X", i), "device_sn": fmt.Sprintf("RNG2604010%04dQ", i),
			"fw_version": "2026.3.0, 2d3f72a", "version": "2026.3.1, e28c5c0", "device_state": "1", "heartbeat": "1",
		})
		for _, node := range []string{"pe0", "pe1", "pe2", "pe3", "pe4", "pe5", "pe6", "pe7", "pe0-1", "pe2-3", "pe4-5", "pe6-7", "pe0-3", "pe4-7", "bar0", "bar2", "bar4", "ch0", "ch1", "dmar"} {
			h.Device("/dev/rngd/" + name + node)
		}
		h.Files(fmt.Sprint(f.Folder(), "/hwmon/hwmon", 3+i), map[string]string{"name": "rngd_mgmt", "temp1_input": fmt.Sprint(30160 + 100*i), "power1_input": "40000000"})
		status = append(status, rngdStatus(i))
	}
	h.Command("["+strings.Join(status, ",")+"]", "furiosa-smi", "status", "--format", "json")
	return h
}

func rngdStatus(npu int) string {
	used, busy := int64(0), 0.0
	if npu < 2 {
		used, busy = 38<<30, 87.5
	}
	var cores []string
	for core := range 8 {
		cores = append(cores, fmt.Sprintf(`{"pe_core":%d,"pe_occupancy":%v,"pe_utilization":%.1f}`, core, busy > 0, busy))
	}
	return fmt.Sprintf(`{"arch":"rngd","device":"npu%d","liveness":"alive","memory":{"DRAM":{"used_size":%d,"total_size":51002736640,"used_ratio":0.0}},"pe_utilizations":[%s]}`,
		npu, used, strings.Join(cores, ","))
}

// warboyHost has 2 cards, the second of which is not alive.
func warboyHost() *compose.Host {
	h := compose.New("A host with 2 FuriosaAI Warboy, the second of which is not alive.\n" + furiosaSources)
	h.Machine(server(1, processor{"Intel(R) Xeon(R) Gold 6226R CPU @ 2.90GHz", 16, 2}, 192, ubuntu("20.04.6", "5.15.0-119"), "Supermicro", "SYS-5019C"))
	for i, bus := range []int{0x3b, 0x5e} {
		f := compose.Function{
			Place: fmt.Sprintf("pci0000:%02x/0000:%02x:00.0/0000:%02x:00.0", bus-1, bus-1, bus), IDs: "1ed2:0000 1ed2:0000", Class: "120000", Revision: "01", Driver: "npu_mgmt", Link: "16.0 GT/s PCIe x8",
		}
		h.PCI(f)
		name := fmt.Sprint("npu", i)
		addClassDevice(h, f.Folder(), "npu_mgmt", name+"_mgmt", name+"_mgmt", map[string]string{
			"busname": f.Address(), "dev": fmt.Sprint("234:", i), "device_type": "Warboy", "platform_type": "FuriosaAI", "device_uuid": fmt.Sprintf("82540B87-1055-48C6-AAB1-C4CC84672C7%d", i),
			"fw_version": "1.6.0, c1bebfd", "version": "1.9.2, 3004874", "alive": fmt.Sprint(1 - i),
		})
		for _, node := range []string{"", "pe0", "pe1", "pe0-1", "ch0", "ch1"} {
			h.Device("/dev/" + name + node)
		}
	}
	return h
}
