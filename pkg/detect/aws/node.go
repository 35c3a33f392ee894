package aws

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

const neuronClass = "/sys/class/neuron_device"

// neuronNode is a device of the driver's class: /sys/class/neuron_device/neuron3. Its files are root's.
type neuronNode struct {
	number int
	folder string
	// path is the device node; empty where there is none.
	path string
	// function is the PCI function's folder; empty where the driver does not link to it.
	function string
	// cores is the number of physical cores, 0 where the driver does not say.
	cores int
	// connected are the numbers of the nodes at the other ends of its NeuronLinks.
	connected []int
}

// maxNeuronNodes is the driver's limit (MAX_NEURON_DEVICE_COUNT), maxNeuronCores far above what a chip has.
const (
	maxNeuronNodes = 64
	maxNeuronCores = 64
)

// readNeuronNodes reads the class in order of its numbers. With an error it still returns the nodes that could be read.
func readNeuronNodes(files host.Files) ([]*neuronNode, error) {
	numbers, err := host.ReadNumbered(files, neuronClass, "neuron")
	if len(numbers) > maxNeuronNodes {
		err = fmt.Errorf("%s: more than %d devices, the others are passed over", neuronClass, maxNeuronNodes)
		numbers = numbers[:maxNeuronNodes]
	}
	unread := []error{err}
	var nodes []*neuronNode
	for _, number := range numbers {
		node := &neuronNode{number: number, folder: path.Join(neuronClass, fmt.Sprint("neuron", number))}
		unread = append(unread, node.read(files))
		nodes = append(nodes, node)
	}
	return nodes, errors.Join(unread...)
}

func (n *neuronNode) read(files host.Files) error {
	if name := sysfs.DeviceNode(files, n.folder); name != "" {
		n.path = name
	}
	n.function, _ = files.RealPath(path.Join(n.folder, "device"))
	cores, _, coresErr := host.ReadInt(files, path.Join(n.folder, "core_count"))
	if cores > 0 && cores <= maxNeuronCores {
		n.cores = int(cores)
	}
	text, _, linksErr := host.ReadText(files, path.Join(n.folder, "connected_devices"))
	n.connected = parseNeuronConnected(text)
	return errors.Join(coresErr, linksErr)
}

// parseNeuronConnected reads `12, 3, 4, 1`; what is no number of a node is passed over.
func parseNeuronConnected(text string) []int {
	var numbers []int
	for field := range strings.SplitSeq(text, ",") {
		number, ok := host.ParseIndex(strings.TrimSpace(field))
		if ok && number < maxNeuronNodes && len(numbers) < maxNeuronNodes {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// uncorrectable counts memory errors that ECC could not mend, since the driver was loaded; ok is false where the driver
// shows no counter.
func (n *neuronNode) uncorrectable(files host.Files) (sum int64, ok bool) {
	for _, name := range []string{"mem_ecc_uncorrected", "sram_ecc_uncorrected"} {
		count, found, err := host.ReadInt(files, path.Join(n.folder, "stats/hardware", name))
		if found && err == nil && count >= 0 && count < 1<<32 {
			sum, ok = sum+count, true
		}
	}
	return sum, ok
}

// usedMiB is the device memory that the runtime holds for physical cores from first on; ok is false where the driver
// does not say it for all of them.
func (n *neuronNode) usedMiB(files host.Files, first, cores int) (used int64, ok bool) {
	for core := first; core < first+cores; core++ {
		name := path.Join(n.folder, fmt.Sprint("neuron_core", core), "stats/memory_usage/device_mem/total")
		held, ok, err := host.ReadInt(files, name)
		if !ok || err != nil || held < 0 || held>>20 > backend.MaxMemoryMiB {
			return 0, false
		}
		used += held
	}
	return used >> 20, cores > 0
}
