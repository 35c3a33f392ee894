package launch

import "github.com/rankwright/rankwright/pkg/engine"

// deepSpeed is the `deepspeed` command, which numbers ranks by the order of the host file; each pod starts its own with
// --no_ssh. A PipelineModule divides its layers by itself, and as the plan does with partition_method="uniform" alone: its
// default weighs them by parameters. Sources: deepspeed/launcher/runner.py (_parse_hostfile, --no_ssh, --node_rank),
// deepspeed/runtime/utils.py (partition_uniform).
var deepSpeed = launcher{
	name:  "deepspeed",
	of:    ofDeepSpeed,
	check: (*Copy).inOrder, listsHosts: true,
	files: func(_ *Job, c *Copy) ([]File, error) {
		return []File{{c.fileName("deepspeed-hostfile"), openMPIHosts(c)}}, nil
	},
	shared: func(c *Copy, e *Environment) {
		e.set(variableSplit, numbers(c.Split))
		w := command{of: ofDeepSpeed, Environment: e}
		w.tell(engine.ForHostFile, c.path("deepspeed-hostfile"))
		w.tell(engine.ForHead, c.head().Host)
		w.tell(engine.ForPort, c.port(torchPort))
	},
	pod: func(c *Copy, p *Pod, e *Environment) {
		if len(c.Pods) > 1 {
			w := command{of: ofDeepSpeed, Environment: e}
			w.tell(engine.ForNoShell, nil)
			w.tell(engine.ForNode, p.Worker)
		}
	},
}
