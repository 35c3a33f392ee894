// Package synthetic builds clusters that do not exist: nodes of named shapes, some of their devices held by pods, for
// benchmarks of the planner and for what-ifs. It is pure and draws random numbers only from the seed that it is given, so
// the same arguments give the same bytes.
package synthetic
