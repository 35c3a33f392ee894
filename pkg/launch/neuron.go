package launch

import "strconv"

// neuronPort is the port of the root communicator in AWS's examples.
const neuronPort = 41000

// neuron is the Neuron runtime under PJRT with one process for each pod. A rank is a logical NeuronCore, as the inventory
// lists them. Sources: AWS Neuron's runtime environment variables (NEURON_RT_ROOT_COMM_ID, NEURON_RT_NUM_CORES), its
// examples for JAX on several nodes and libneuronxla (NEURON_PJRT_PROCESSES_NUM_DEVICES, NEURON_PJRT_PROCESS_INDEX).
var neuron = launcher{
	name:   "neuron",
	vendor: amazon, devices: "of aws",
	check: (*Copy).inOrder,
	shared: func(c *Copy, e *Environment) {
		e.set("NEURON_RT_ROOT_COMM_ID", address(c.head().Host, c.port(neuronPort)))
		e.set("NEURON_PJRT_PROCESSES_NUM_DEVICES", joined(c, func(p *Pod) string { return strconv.Itoa(len(p.Ranks)) }))
	},
	pod: func(_ *Copy, p *Pod, e *Environment) {
		e.set("NEURON_RT_NUM_CORES", len(p.Ranks))
		e.set("NEURON_PJRT_PROCESS_INDEX", p.Worker)
	},
}
