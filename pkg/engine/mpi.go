package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

// MPI is a program of its own that mpirun starts, of which nothing is known but that. It gets torch's order of ranks.
var mpi = Engine{
	Name:      v1alpha1.EngineMPI,
	Stages:    Stages{Cuts: CutAnywhere},
	Ranks:     Ranks{Order: "tp-cp-dp-pp", Experts: Experts{Over: []string{"tp", "cp", "dp"}}, ByMPI: true},
	Memory:    program,
	Launchers: []string{"openmpi", "mpich"},
}
