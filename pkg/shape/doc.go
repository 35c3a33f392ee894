// Package shape knows in which shapes a model can run on the devices of a cluster: its degrees of parallelism, what each
// takes of memory and time, and whether the free devices have room for it. It names no device of a plan; package place does.
//
// A [Problem] is a valid request on a cluster. Its [Format] ladder and the [Variant]s of each are the tiers that are looked
// at in order; a [Tier] gives, for each [Pool] of matching devices, divided into [Flavor]s that cannot be told apart, the
// [Candidate]s that fit, first on equal devices, then over several kinds. [Tier.Shapes] is the only place where shapes are
// enumerated: the best plan, the question whether there is any, and what would make one fit all look at the same ones.
//
// What is computed for a shape, its bytes and its times, is kept with the index of the cluster from plan to plan ([Cache]).
package shape
