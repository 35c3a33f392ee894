// Package pipeline divides the layers of a model over unequal devices. It holds two exact methods, and both are pure: the
// same input gives the same answer, and neither reads a clock.
//
// # One pipeline: Split
//
// Split cuts the layers into one run for each stage and chooses the class of device of each, so that the slowest stage is
// as fast as possible. A stage's time is any function of class and run, so it may hold the memory that the run needs and
// need not grow with the layers. Exact dynamic programme, with the time s(c,i,j) of layers [i, j) on class c and the time
// h(a,b) to receive from class a on class b:
//
//	best(u+e_c, j, c) = min over i < j and last class a of max(best(u, i, a), h(a,c) + s(c,i,j))
//
// u counts the devices that are used of each class. Every pipeline is a path through these states, and the value of a
// state depends on what came before only through its slowest stage, so the programme is exact. Classes whose sends take
// equally long share one value of "last class"; where none differ it vanishes.
//
// # Many paths: Optimize
//
// Optimize lets requests take different paths (the problem of Helix, ASPLOS 2025, arXiv 2406.01566): each device holds
// one span of layers, a device hands over to those whose span starts where its own ends, and the throughput is the maximum
// flow from the first layer to the last, where a device with k layers carries rate(k) tokens a second and a link what
// it carries. Nothing in it knows of latency or of the KV cache, so a higher flow is a candidate, not a verdict.
//
// Upper bound. Let a layout carry the flow T over L layers. Each of the L layers passes all of T. A device with k layers
// passes at most min(rate(k), T) through k of them. So
//
//	L*T <= sum over devices of share(T),   share(T) = max over k of k*min(rate(k), T)
//
// share(T)/T never rises with T, so the largest T that meets this is found by bisection, and no layout exceeds it. Links
// only take away from it.
//
// Search. To reach a target T, spans are placed from the first layer on. Only where spans end can others start, or nothing
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
package pipeline
