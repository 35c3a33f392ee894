package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

// JAX is a program of jax.distributed, with the rules of MaxText: equal stages, micro-batches by the stage
// (microbatches_per_stage), and context ranks that have pairs of pieces (context_parallel_load_balance). It leaves the order
// of ranks to the program, which gets torch's.
var jax = Engine{
	Name:        v1alpha1.EngineJAX,
	Support:     jaxSupport,
	Documented:  jaxPlatforms,
	Parallelism: Parallelism{Context: &Context{Pieces: 2}},
	Stages:      Stages{Cuts: CutEven, Without: []trait{withEncoder}, MicroBatches: multipleOfStages},
	Ranks:       Ranks{Order: "tp-cp-dp-pp", Experts: Experts{Over: []string{"tp", "cp", "dp"}}},
	Memory:      program,
	Launchers:   []string{"jax"},
	Arguments:   jaxArguments,
}
