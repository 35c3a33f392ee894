package launch

import (
	"fmt"

	"github.com/rankwright/rankwright/pkg/engine"
)

// sglangPort is the port of --dist-init-addr in SGLang's multi-node documentation.
const sglangPort = 20000

// sglang is `python3 -m sglang.launch_server`. Its tensor degree holds the data ranks, and its limits apply to all data ranks
// together. Without SGLANG_PP_LAYER_PARTITION some models are cut by their own balance, so a pipeline always gets it.
// Sources: sglang/srt/server_args.py, sglang/srt/entrypoints/engine.py (_calculate_rank_ranges),
// sglang/srt/distributed/utils.py (get_pp_indices).
var sglang = launcher{
	name:  "sglang",
	of:    ofSGLang,
	check: checkSGLang,
	shared: func(c *Copy, e *Environment) {
		s, w := &c.Strategy, &command{of: ofSGLang, Environment: e}
		w.serving(c, s.Data)
		w.tell(engine.ForTensor, c.tensor(ofSGLang))
		w.tell(engine.ForPipeline, s.Pipeline)
		if s.Data > 1 {
			w.tell(engine.ForData, s.Data)
			w.tell(engine.ForAttentionData, nil)
		}
		w.degree(engine.ForExpert, s.Expert)
		w.balance(s)
		if ofSGLang.Parallelism.Wide(int(s.Tensor), int(s.Data), int(s.Expert)) {
			w.tell(engine.ForDenseTensor, 1)
			w.tell(engine.ForExchange, exchangeOf(c))
		}
		w.split(c)
		if len(c.Pods) > 1 {
			w.tell(engine.ForNodes, len(c.Pods))
			w.tell(engine.ForHead, address(c.head().Host, c.port(sglangPort)))
		}
	},
	pod: func(c *Copy, p *Pod, e *Environment) {
		if len(c.Pods) > 1 {
			(&command{of: ofSGLang, Environment: e}).tell(engine.ForNode, p.Worker)
		}
	},
}

// exchangeOf is what takes tokens to experts on a copy's devices: DeepEP, or MORI on those of AMD.
func exchangeOf(c *Copy) string {
	if library, known := c.mesh.Library(); known && library.Maker == "amd" {
		return "mori"
	}
	return "deepep"
}

// checkSGLang says why SGLang would give the pods other ranks than the plan: a node has whole stages, or a stage has whole
// nodes with equal parts of its tensor ranks.
func checkSGLang(c *Copy) error {
	if err := c.equalRuns(); err != nil {
		return err
	}
	stages, nodes, tensor := int(c.Strategy.Pipeline), len(c.Pods), c.tensor(ofSGLang)
	switch {
	case stages%nodes == 0:
		return nil
	case nodes%stages != 0:
		return fmt.Errorf("%d stages and %d pods do not divide each other: make pods of whole stages or of equal parts of one (%s)", stages, nodes, podSize)
	case tensor%(nodes/stages) != 0:
		return fmt.Errorf("the %d pods of a stage do not divide its %d tensor ranks: use fewer pods", nodes/stages, tensor)
	default:
		return nil
	}
}
