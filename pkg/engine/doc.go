// Package engine is one table of the engines that run models: a file and a row for each. A row says on which devices the engine
// runs, in which formats of weights, each with its source (the files that end in _support), which degrees of parallelism and splits
// of layers it takes, how it numbers its ranks, how much memory it takes and works on in a step when it is told nothing, what its
// arguments are called, and which launchers start it.
//
// Planner, memory, estimates, meshes, launchers and the command line ask this table and compare no engine's name themselves.
// It takes an architecture and plain values of a device, so that it knows neither catalogue nor cluster. A new engine is a
// new file here, its name in api/v1alpha1, and where no launcher fits a file in pkg/launch.
package engine
