package launch

import (
	"fmt"

	"github.com/rankwright/rankwright/pkg/engine"
)

// vLLM's default ports (vllm/config/parallel.py: master_port and data_parallel_rpc_port).
const (
	vllmPort    = 29501
	vllmRPCPort = 29550
)

// vllm is `vllm serve` with its own multi-node launcher (mp). Its world is ordered data, pipeline, context, tensor, the last
// one fastest, and its nodes have equal runs of it. Sources: vllm/engine/arg_utils.py (create_engine_config),
// vllm/config/parallel.py (nnodes_within_dp), vllm/entrypoints/cli/serve.py (run_headless), vllm/distributed/utils.py
// (get_pp_indices reads VLLM_PP_LAYER_PARTITION).
var vllm = launcher{
	name:  "vllm",
	of:    ofVLLM,
	check: checkVLLM,
	shared: func(c *Copy, e *Environment) {
		w := vllmEngine(c, e, "mp")
		if len(c.Pods) == 1 {
			return
		}
		w.tell(engine.ForNodes, len(c.Pods))
		w.tell(engine.ForHead, c.head().Host)
		w.tell(engine.ForPort, c.port(vllmPort))
		if c.Strategy.Data > 1 {
			w.tell(engine.ForDataHead, c.head().Host)
			w.tell(engine.ForDataPort, c.port(vllmRPCPort))
		}
	},
	pod: func(c *Copy, p *Pod, e *Environment) {
		w := command{of: ofVLLM, Environment: e}
		if len(c.Pods) > 1 {
			w.tell(engine.ForNode, p.Worker)
		}
		if p.Worker > 0 {
			w.tell(engine.ForHeadless, nil)
		}
	},
}

// vllmEngine adds what does not depend on how the ranks are started beside the backend that starts them.
func vllmEngine(c *Copy, e *Environment, backend string) *command {
	s, w := &c.Strategy, &command{of: ofVLLM, Environment: e}
	w.serving(c, 1)
	w.tell(engine.ForTensor, s.Tensor)
	w.tell(engine.ForPipeline, s.Pipeline)
	w.degree(engine.ForData, s.Data)
	w.degree(engine.ForContext, s.Context)
	w.degree(engine.ForDecodeContext, s.DecodeContext)
	if s.Expert > 1 {
		w.tell(engine.ForExpert, nil)
		w.balance(s)
	}
	w.split(c)
	if c.World > 1 {
		w.tell(engine.ForBackend, backend)
	}
	return w
}

// checkVLLM says why vLLM's launcher would give the pods other ranks than the plan: it divides data, pipeline and tensor by the
// number of nodes, and a node has whole data ranks or a part of one.
func checkVLLM(c *Copy) error {
	if err := c.equalRuns(); err != nil {
		return err
	}
	s, nodes, each := &c.Strategy, len(c.Pods), len(c.head().Ranks)
	if counted := int(s.Data * s.Pipeline * s.Tensor); counted%nodes != 0 {
		return fmt.Errorf("data %d x pipeline %d x tensor %d is no multiple of %d pods: use fewer pods", s.Data, s.Pipeline, s.Tensor, nodes)
	}
	if within := c.World / int(s.Data); within%each != 0 && each%within != 0 {
		return fmt.Errorf("pods of %d ranks cut data ranks of %d: make pods of a divisor or a multiple of that (%s)", each, within, podSize)
	}
	return nil
}
