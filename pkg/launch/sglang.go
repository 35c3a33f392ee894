package launch

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// sglangPort is the port of --dist-init-addr in SGLang's multi-node documentation.
const sglangPort = 20000

// sglang is `python3 -m sglang.launch_server`. Its tensor degree holds the data ranks, and its limits are those of all data
// ranks together. Without SGLANG_PP_LAYER_PARTITION some models are cut by their own balance, so a pipeline always gets it.
// Sources: sglang/srt/server_args.py, sglang/srt/entrypoints/engine.py (_calculate_rank_ranges),
// sglang/srt/distributed/utils.py (get_pp_indices).
var sglang = launcher{
	name:  "sglang",
	check: checkSGLang,
	shared: func(c *Copy, e *Environment) {
		s := &c.Strategy
		e.add("--tp-size", c.tensor(v1alpha1.EngineSGLang), "--pp-size", s.Pipeline)
		if s.Data > 1 {
			e.add("--dp-size", s.Data, "--enable-dp-attention")
		}
		e.option("--ep-size", s.Expert)
		if c.Limits != nil {
			e.add("--max-running-requests", c.Limits.Sequences*int64(s.Data), "--chunked-prefill-size", c.Limits.Tokens*int64(s.Data))
		}
		if c.KVCacheType == v1alpha1.FP8 {
			e.add("--kv-cache-dtype", "fp8_e4m3")
		}
		if s.Pipeline > 1 {
			e.set("SGLANG_PP_LAYER_PARTITION", numbers(c.Split))
		}
		if len(c.Pods) > 1 {
			e.add("--nnodes", len(c.Pods), "--dist-init-addr", address(c.head().Host, c.port(sglangPort)))
		}
	},
	pod: func(c *Copy, p *Pod, e *Environment) {
		if len(c.Pods) > 1 {
			e.add("--node-rank", p.Worker)
		}
	},
}

// checkSGLang says why SGLang would give the pods other ranks than the plan: a node has whole stages, or a stage has whole
// nodes with equal parts of its tensor ranks.
func checkSGLang(c *Copy) error {
	if err := first(c.withoutContext, c.equalRuns); err != nil {
		return err
	}
	stages, nodes, tensor := int(c.Strategy.Pipeline), len(c.Pods), c.tensor(v1alpha1.EngineSGLang)
	switch {
	case stages%nodes == 0:
		return nil
	case nodes%stages != 0:
		return fmt.Errorf("%d stages and %d pods do not divide each other: make pods of whole stages or of equal parts of one (annotation %s)", stages, nodes, AnnotationPodDevices)
	case tensor%(nodes/stages) != 0:
		return fmt.Errorf("the %d pods of a stage do not divide its %d tensor ranks: use fewer pods", nodes/stages, tensor)
	default:
		return nil
	}
}
