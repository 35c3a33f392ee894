// Package paths lays a model out over unequal devices so that requests may take different paths through them (the problem of
// Helix, ASPLOS 2025, arXiv 2406.01566). It is for library use only: Rankwright's planner places groups of ranks, which form
// pipelines (package pipeline), and no program of Rankwright calls this one.
//
// Each device holds one span of layers, a device hands over to those whose span starts where its own ends, and the
// throughput is the maximum flow from the first layer to the last, where a device with k layers carries rate(k) tokens a
// second and a link what it carries. Nothing in it knows of latency, of the KV cache or of how much memory is left beside
// the layers, so a higher flow is a candidate, not a verdict. Optimize finds the layout of the highest flow, and Throughput
// is the flow of any layout.
//
// # Upper bound
//
// Let a layout carry the flow T over L layers. Each of the L layers passes all of T. A device with k layers
// passes at most min(rate(k), T) through k of them. So
//
//	L*T <= sum over devices of share(T),   share(T) = max over k of k*min(rate(k), T)
//
// share(T)/T never rises with T, so the largest T that meets this is found by bisection, and no layout exceeds it. Links
// only take away from it.
//
// # Search
//
// To reach a target T, spans are placed from the first layer on. Only where spans end can others start, or nothing
// arrives there. A branch ends where it breaks one of three conditions that every layout of T meets:
//
//   - the spans over a layer that no later span can start before carry T in sum, each counted with no more than what
//     reaches its start;
//   - the shares of the devices that are left cover what is missing over all layers, sum of max(0, T - carried);
//   - T flows from the first layer into the spans that are open, by an exact maximum flow.
//
// Where all of T arrives at one boundary that no span reaches across, what follows depends only on the devices that are
// left, so what was refuted there is remembered (without links, whose senders would matter).
//
// Devices that can change places without changing any flow are one class and placed in a fixed order. A search that ends
// empty proves that no layout carries T. The optimum is bracketed so from both
// sides, to a relative Precision; sums are compared with a tolerance a thousand times finer, always in favour of going on.
package paths
