package launch

// torchrun reads any of its options from PET_<OPTION>. Its static rendezvous numbers ranks by node rank times processes per
// node, so all pods need the same number of ranks. Sources: torch/distributed/run.py and argparse_util.py (env, check_env);
// Kubeflow Trainer injects the same variables.
var torchrun = launcher{
	name:  "torchrun",
	check: (*Copy).equalRuns,
	shared: func(c *Copy, e *Environment) {
		e.set("PET_NNODES", len(c.Pods))
		e.set("PET_NPROC_PER_NODE", len(c.head().Ranks))
		e.set("PET_RDZV_BACKEND", "static")
		e.set("PET_MASTER_ADDR", c.head().Host)
		e.set("PET_MASTER_PORT", c.port(torchPort))
	},
	pod: func(_ *Copy, p *Pod, e *Environment) { e.set("PET_NODE_RANK", p.Worker) },
}
