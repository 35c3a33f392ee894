package launch

import (
	"strings"

	"github.com/rankwright/rankwright/pkg/engine"
)

// jaxPort is the coordinator's port of JAX's own detection of Indexed Jobs.
const jaxPort = 55527

// jax is a program that calls jax.distributed.initialize: one process for each pod. JAX itself reads the coordinator's
// address and the local devices; the program passes the number of processes and the process's own. Meshes of JAX programs
// have equal stages. Sources: jax/_src/distributed.py (JAX_COORDINATOR_ADDRESS, JAX_LOCAL_DEVICE_IDS),
// jax/_src/clusters/k8s_cluster.py; Kubeflow Trainer for JAX_NUM_PROCESSES and JAX_PROCESS_ID.
var jax = launcher{
	name:  "jax",
	of:    ofJAX,
	check: (*Copy).inOrder,
	shared: func(c *Copy, e *Environment) {
		w := command{of: ofJAX, Environment: e}
		w.tell(engine.ForHead, address(c.head().Host, c.port(jaxPort)))
		w.tell(engine.ForProcesses, len(c.Pods))
		e.program(c)
	},
	pod: func(c *Copy, p *Pod, e *Environment) {
		w := command{of: ofJAX, Environment: e}
		w.tell(engine.ForProcess, p.Worker)
		// The TPU runtime numbers the chips of a host by itself.
		if vendorOf(c) != google {
			w.tell(engine.ForDevices, counting(len(p.Ranks)))
		}
	},
}

// Vendors whose devices have launchers of their own.
const (
	google = "google"
	amazon = "aws"
	huawei = "huawei"
)

// vendorOf is the vendor of a copy's devices; a mesh has one.
func vendorOf(c *Copy) string { return c.Pods[0].Devices[0].Vendor() }

// counting is 0,1,… up to below n.
func counting(n int) string {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return numbers(list)
}

// joined lists something of every pod, separated by commas.
func joined(c *Copy, of func(*Pod) string) string {
	parts := make([]string, len(c.Pods))
	for i := range c.Pods {
		parts[i] = of(&c.Pods[i])
	}
	return strings.Join(parts, ",")
}
