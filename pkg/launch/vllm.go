package launch

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
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
		vllmEngine(c, e)
		if len(c.Pods) == 1 {
			return
		}
		e.add("--distributed-executor-backend", "mp", "--nnodes", len(c.Pods))
		e.add("--master-addr", c.head().Host, "--master-port", c.port(vllmPort))
		if c.Strategy.Data > 1 {
			e.add("--data-parallel-address", c.head().Host, "--data-parallel-rpc-port", c.port(vllmRPCPort))
		}
	},
	pod: func(c *Copy, p *Pod, e *Environment) {
		if len(c.Pods) > 1 {
			e.add("--node-rank", p.Worker)
		}
		if p.Worker > 0 {
			e.add("--headless")
		}
	},
}

// vllmEngine adds what does not depend on how the ranks are started.
func vllmEngine(c *Copy, e *Environment) {
	s, is := &c.Strategy, &ofVLLM.Arguments
	e.add(is.Tensor, s.Tensor, is.Pipeline, s.Pipeline)
	e.option(is.Data, s.Data)
	e.option(is.Context, s.Context)
	e.option(is.DecodeContext, s.DecodeContext)
	if s.Expert > 1 {
		e.add(is.Expert)
	}
	if c.Limits != nil {
		e.add(is.Sequences, c.Limits.Sequences, is.Tokens, c.Limits.Tokens)
	}
	if c.KVCacheType == v1alpha1.FP8 {
		e.add(is.Cache, is.CacheFP8)
	}
	if s.Pipeline > 1 {
		e.set(is.Split, numbers(c.Split))
	}
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
