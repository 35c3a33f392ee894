package engine

import (
	"regexp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// custom is a program of the user's own, under a name with its domain. As of a program that MPI starts, nothing is known of it:
// it takes every division of heads, layers and experts that the model allows, and has no context parallelism. Its ranks are in
// torch's order, its memory has no limit of its own, and its speed is that of an engine that was not measured. It is started
// with the variables of torch.distributed.
var custom = Engine{
	Stages:    Stages{Cuts: CutAnywhere},
	Jobs:      anyJob,
	Ranks:     Ranks{Order: "tp-cp-dp-pp", Experts: Experts{Over: []string{"tp", "cp", "dp"}}},
	Memory:    program,
	Launchers: []string{"env"},
}

// qualified is a name with its domain, as the API takes it.
var qualified = regexp.MustCompile(`^[a-z0-9-]+([.][a-z0-9-]+)+/[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)

// named returns the row of a program of the user's own; nil where the name has no domain.
func named(name string) *Engine {
	if !qualified.MatchString(name) {
		return nil
	}
	row := custom
	row.Name = v1alpha1.Engine(name)
	return &row
}
