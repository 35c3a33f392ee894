package launch

import "fmt"

// rayPort is the port of Ray's global control store.
const rayPort = 6379

// ray starts a Ray cluster of the pods, for vLLM with --distributed-executor-backend ray: the head with the first pod. Each
// pod has a resource of its own name beside its devices, by which a placement group finds it. Which rank a worker becomes is
// then vLLM's: it sorts workers by node, the driver's first, so ranks follow the plan by node but not always by number.
// Sources: `ray start --help` (--head, --port, --address, --num-gpus, --resources, --block), Ray's RAY_ADDRESS.
var ray = launcher{
	name:       "ray",
	listsHosts: true,
	files: func(_ *Job, c *Copy) ([]File, error) {
		var e Environment
		vllmEngine(c, &e, "ray")
		if err := e.check(ofVLLM); err != nil {
			return nil, err
		}
		return []File{{c.fileName("vllm-ray.env"), e.Shell()}}, nil
	},
	shared: func(c *Copy, e *Environment) { e.set("RAY_ADDRESS", address(c.head().Host, c.port(rayPort))) },
	pod: func(c *Copy, p *Pod, e *Environment) {
		if p.Worker == 0 {
			e.add("--head", fmt.Sprintf("--port=%d", c.port(rayPort)))
		} else {
			e.add("--address=" + address(c.head().Host, c.port(rayPort)))
		}
		e.add(fmt.Sprintf("--num-gpus=%d", len(p.Ranks)), fmt.Sprintf(`--resources={"rankwright-pod-%d":%d}`, p.Index, len(p.Ranks)), "--block")
	},
}
