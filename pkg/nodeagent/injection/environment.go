package injection

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// environment is what the kind's variables hold. Lists cannot be edits of single CDI devices, where the last one would
// win, so they are in the answer in both modes.
func (g grant) environment(mode Mode) (map[string]string, error) {
	environment := map[string]string{}
	for _, v := range g.kind.Variables {
		value := v.nodes
		if mode == CDI {
			value = v.cdi
		}
		if value == nil {
			continue
		}
		text, err := value(g)
		if err != nil {
			return nil, err
		}
		if text != "" {
			environment[v.Name] = text
		}
	}
	return environment, nil
}

const (
	nvidiaVisible  = "NVIDIA_VISIBLE_DEVICES"
	nvidiaVoidSays = "`void` in mode CDI, so that NVIDIA's runtime adds nothing of its own"
)

func nvidiaVoid(grant) (string, error) { return "void", nil }

// nvidiaUUID matches a GPU's UUID and both forms of a MIG device's (`MIG-…`, and `MIG-GPU-…/1/0` of older drivers). Until
// the driver has initialised a GPU, its files show question marks instead.
var nvidiaUUID = regexp.MustCompile(`^(GPU|MIG)-[0-9A-Za-z/-]+$`)

func nvidiaUUIDs(g grant) (string, error) {
	var uuids []string
	for i := range g.devices {
		d := &g.devices[i]
		if !nvidiaUUID.MatchString(d.UUID) {
			return "", fmt.Errorf("device %s: uuid %q is not known yet and "+nvidiaVisible+" needs it: let the agent run rankwright-nvml or nvidia-smi, or take mode %s",
				d.ID, d.UUID, CDI)
		}
		uuids = append(uuids, d.UUID)
	}
	return strings.Join(uuids, ","), nil
}

// levelZeroHierarchy has Level Zero count a card of several tiles as the one device that it is granted as.
func levelZeroHierarchy(g grant) (string, error) {
	if slices.ContainsFunc(g.devices, func(d v1alpha1.Device) bool { return strings.Contains(d.Product, "Data Center GPU Max") }) {
		return "COMPOSITE", nil
	}
	return "", nil
}

// hostIndexes are the devices' numbers on the host, in ascending order.
func hostIndexes(g grant) (string, error) {
	var numbers []int
	for i := range g.devices {
		d := &g.devices[i]
		if d.Index == nil {
			return "", fmt.Errorf("device %s: index is not known and the vendor's container runtime needs it: see the device's health, or take mode %s", d.ID, CDI)
		}
		numbers = append(numbers, int(*d.Index))
	}
	return list(numbers), nil
}

// list joins numbers by commas, each once, in ascending order.
func list(numbers []int) string {
	slices.Sort(numbers)
	var texts []string
	for _, number := range slices.Compact(numbers) {
		texts = append(texts, strconv.Itoa(number))
	}
	return strings.Join(texts, ",")
}

// habanaModules are the numbers of the slots on the baseboard, which the driver tells. With all cards of the node
// granted, or where the driver does not tell, there is nothing to restrict by.
func habanaModules(g grant) (string, error) {
	if g.node.Files == nil || !slices.ContainsFunc(g.others(), func(d *v1alpha1.Device) bool { return d.Backend == g.kind.Backend }) {
		return "", nil
	}
	var modules []int
	for i := range g.devices {
		module, ok := g.habanaModule(&g.devices[i])
		if !ok {
			return "", nil
		}
		modules = append(modules, module)
	}
	return list(modules), nil
}

func (g grant) habanaModule(d *v1alpha1.Device) (int, bool) {
	if d.PCI == nil {
		return 0, false
	}
	text, err := g.node.Files.ReadFile("/sys/bus/pci/devices/" + d.PCI.Address + "/module_id")
	if err != nil {
		return 0, false
	}
	module, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 8)
	return int(module), err == nil
}
