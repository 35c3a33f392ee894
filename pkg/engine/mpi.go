package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

// MPI is a program of the user's own that mpirun starts. Nothing else is known of it; its ranks are in torch's order.
var mpi = Engine{
	Name:      v1alpha1.EngineMPI,
	Stages:    Stages{Cuts: CutAnywhere},
	Jobs:      anyJob,
	Ranks:     Ranks{Order: "tp-cp-dp-pp", Experts: Experts{Over: []string{"tp", "cp", "dp"}}, ByMPI: true},
	Memory:    program,
	Launchers: []string{"openmpi", "mpich"},
}
