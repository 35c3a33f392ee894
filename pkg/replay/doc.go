// Package replay runs requests through a simulated server, step by step: what pkg/cost and pkg/occupancy say in closed form of a mean request is held
// to it, and a user's own trace is replayed with it. It reads the usual formats of traces, draws lengths from distributions that were published,
// and knows neither models nor devices: how long a step takes, its caller says. Everything in it is deterministic.
package replay
