package launch

// tpuPort is the port of the TPU runtime (LeaderWorkerSet's default).
const tpuPort = 8476

// tpu is the TPU runtime: every host of a slice knows all of them. Sources: LeaderWorkerSet pkg/utils/accelerators/tpu.go;
// jax/_src/clusters/cloud_tpu_cluster.py (TPU_PROCESS_ADDRESSES before TPU_WORKER_HOSTNAMES, both lists with commas).
var tpu = launcher{
	name:   "tpu",
	vendor: google, devices: "TPUs",
	check: (*Copy).equal, listsHosts: true,
	shared: func(c *Copy, e *Environment) {
		e.set("TPU_WORKER_HOSTNAMES", joined(c, func(p *Pod) string { return p.Host }))
		e.set("TPU_PROCESS_ADDRESSES", joined(c, func(p *Pod) string { return address(p.Host, tpuPort) }))
		e.set("TPU_PROCESS_PORT", tpuPort)
	},
	pod: func(_ *Copy, p *Pod, e *Environment) { e.set("TPU_WORKER_ID", p.Worker) },
}
