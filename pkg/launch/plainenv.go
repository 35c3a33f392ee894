package launch

// torchPort is the port that torch programs use for MASTER_PORT by convention (Kubeflow Trainer, torchrun's documentation).
const torchPort = 29500

// plainEnv is torch.distributed's env:// initialisation: one process for each rank, started by the pod itself. It takes pods
// of different size. Sources: torch/distributed/rendezvous.py (_env_rendezvous_handler reads RANK, WORLD_SIZE, MASTER_ADDR
// and MASTER_PORT); LOCAL_RANK, LOCAL_WORLD_SIZE and GROUP_RANK as torch/distributed/run.py documents them; NODE_RANK is a
// convention of Lightning and older launchers.
var plainEnv = launcher{
	name: "env",
	shared: func(c *Copy, e *Environment) {
		e.set("MASTER_ADDR", c.head().Host)
		e.set("MASTER_PORT", c.port(torchPort))
		e.set("WORLD_SIZE", c.World)
		if c.Backend != "" {
			e.set(variableBackend, c.Backend)
		}
		e.program(c)
	},
	pod: func(_ *Copy, p *Pod, e *Environment) {
		e.set("LOCAL_WORLD_SIZE", len(p.Ranks))
		e.set("GROUP_RANK", p.Worker)
		e.set("NODE_RANK", p.Worker)
	},
	rank: func(p *Pod, local int, e *Environment) {
		e.set("RANK", p.Ranks[local])
		e.set("LOCAL_RANK", local)
	},
}
