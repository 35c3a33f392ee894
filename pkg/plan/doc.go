// Package plan decides which devices of a cluster hold which layers of a model, or says in numbers why none can. It is
// pure: it reads no clock, calls no API and draws no random number, so the same input gives the same bytes whatever the
// order in which nodes and devices are listed.
//
// # From a request to a plan
//
// The search looks at kinds of free islands (package fleet), never at devices. Kinds of one class with the same wires are
// one flavor (package shape).
//
// For each precision on the ladder of the request, from the best on, with an engine's default batches, and beside them with
// lean ones where these take fewer devices:
//
//  1. candidates are made on each flavor: tensor, data and expert degrees that the model divides into, and so many stages
//     that each fits a device (package memory);
//  2. each is judged by the model of costs (package cost) at the load that is asked for, and left out where it does not
//     keep a limit of TTFT or TPOT;
//  3. they are tried in the order of the objective: of those within its tolerance of the best value, the one with the fewest
//     devices first (package search). The first whose devices can be named (package place) is the plan.
//
// Where none can, copies of different shapes are placed, then pipelines over several classes (package pipeline), then the
// next precision is tried. A previous plan's copies stay where they still hold. Where nothing fits, package remedy looks for
// what would.
package plan
