package main

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// neuronHost is an instance with NeuronDevices of one kind.
type neuronHost struct {
	// DeviceID is the PCI device id, Arch and Name what the driver calls chip and product, Family the instances.
	DeviceID, Arch, Name, Family string
	// Cores is the number of physical cores of a chip. Grouping is how many of them neuron-ls counts as one; 0 for a tool from before
	// it grouped cores.
	Cores, Grouping int
	MemoryBytes     int64
	Chips           []neuronChip
	// Driver is the version of the driver's package, empty where none is loaded.
	Driver string
	// Tool is false where neuron-ls is not installed.
	Tool bool
	// InServer is set where the caller adds the class's files about an UltraServer.
	InServer bool
	// Used is the memory that a running model holds on each physical core, in bytes.
	Used int64
}

// neuronChip is a chip by the number that the driver gives it.
type neuronChip struct {
	Address   string
	NUMA      int
	Connected []int
}

// neuronLSEntry is an element of what neuron-ls -j prints.
type neuronLSEntry struct {
	Device    int             `json:"neuron_device"`
	BDF       string          `json:"bdf"`
	Affinity  string          `json:"cpu_affinity"`
	NUMA      string          `json:"numa_node"`
	Connected []int           `json:"connected_to"`
	Count     int             `json:"nc_count"`
	Grouping  int             `json:"logical_neuroncore_config,omitempty"`
	Memory    int64           `json:"memory_size"`
	Cores     []int           `json:"neuroncore_ids"`
	Processes []neuronProcess `json:"neuron_processes"`
}

type neuronProcess struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Runtime string `json:"neuron_runtime_version"`
}

// addNeuron adds the chips to the bus, the driver's class, and what neuron-ls prints.
func addNeuron(h *compose.Host, n neuronHost) {
	if n.Driver != "" {
		h.File("/sys/module/neuron/version", n.Driver)
	}
	if n.Driver != "" && !n.InServer {
		h.Files("/sys/class/neuron_device", map[string]string{
			"node_id_2": "-1", "node_id_4": "-1", "server_id_2": "0000000000000000", "server_id_4": "0000000000000000", "ultraserver_mode": "",
		})
	}
	for i, chip := range n.Chips {
		function := compose.Function{
			Place: "pci0000:" + chip.Address[5:7] + "/" + chip.Address, IDs: "1d0f:" + n.DeviceID + " 1d0f:" + n.DeviceID,
			Class: "088000", Revision: "00", NUMA: chip.NUMA, Link: "16.0 GT/s PCIe x8",
		}
		if n.Driver != "" {
			function.Driver = "neuron-driver"
			n.addNode(h, i, chip)
		}
		h.PCI(function)
	}
	h.AllowCommands()
	if n.Tool {
		text, err := json.MarshalIndent(n.entries(), "", "    ")
		h.Keep(err)
		h.Command(string(text), "neuron-ls", "-j")
	}
}

// addNode adds /sys/class/neuron_device/neuronN, which has no link to the PCI function.
func (n neuronHost) addNode(h *compose.Host, number int, chip neuronChip) {
	name := fmt.Sprint("neuron", number)
	folder := path.Join("/sys/devices/virtual/neuron_device", name)
	h.Link("/sys/class/neuron_device/"+name, "../../devices/virtual/neuron_device/"+name)
	var connected []string
	for _, other := range chip.Connected {
		connected = append(connected, fmt.Sprint(other))
	}
	h.Files(folder, map[string]string{
		"uevent":                          fmt.Sprintf("MAJOR=243\nMINOR=%d\nDEVNAME=%s", number, name),
		"core_count":                      fmt.Sprint(n.Cores),
		"connected_devices":               strings.Join(connected, ", "),
		"reset":                           "1",
		"info/serial_number":              fmt.Sprintf("%016x", 0xc0ffee0000+number),
		"info/architecture/arch_type":     "ND" + n.Arch,
		"info/architecture/device_name":   n.Name,
		"info/architecture/instance_type": n.Family,
	})
	h.Files(path.Join(folder, "stats/hardware"), map[string]string{
		"mem_ecc_uncorrected": "0", "mem_ecc_repairable_uncorrected": "0", "sram_ecc_uncorrected": "0",
	})
	for core := range n.Cores {
		h.Files(path.Join(folder, fmt.Sprint("neuron_core", core)), map[string]string{
			"info/architecture/arch_type":               "NC" + n.Arch,
			"stats/memory_usage/device_mem/total":       fmt.Sprint(n.Used),
			"stats/memory_usage/device_mem/peak":        fmt.Sprint(n.Used),
			"stats/memory_usage/device_mem/present":     "0",
			"stats/status/success/total":                "0",
			"stats/other_info/model_load_count/present": "0",
		})
	}
	h.Device("/dev/" + name)
}

func (n neuronHost) entries() []neuronLSEntry {
	visible := n.Cores / max(n.Grouping, 1)
	var entries []neuronLSEntry
	for i, chip := range n.Chips {
		entry := neuronLSEntry{
			Device: i, BDF: chip.Address, Affinity: "0-7", NUMA: fmt.Sprint(chip.NUMA), Connected: chip.Connected,
			Count: visible, Grouping: n.Grouping, Memory: n.MemoryBytes, Processes: []neuronProcess{},
		}
		for core := range visible {
			entry.Cores = append(entry.Cores, i*visible+core)
		}
		if n.Used > 0 {
			entry.Processes = append(entry.Processes, neuronProcess{PID: 113985, Command: "python3 serve.py", Runtime: "2.31.24"})
		}
		entries = append(entries, entry)
	}
	return entries
}
