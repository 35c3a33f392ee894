// Package collective does collective communication between the ranks of a mesh: to verify one before a model is loaded,
// and for small programs. Ranks are in one process (Local) or in several, over TCP (New); package nccl does the same on
// GPUs of NVIDIA.
//
// # Results
//
// A call gives the right result or an error, never a wrong result: each frame says which call, step and segment it is
// of, and a receiver takes only what is due. Each result is computed on one rank and passed on, so all ranks have the
// same bits. FP16 and BF16 are added in FP32 and rounded once. See Op and Reduction.
//
// # Algorithms
//
// With n members, s bytes, a the time that a message needs to start and b the time of a byte, the cost of a call is
//
//	all-reduce      tree   2 log2(n) (a + s b)             ring   2(n-1) a + 2(n-1)/n s b
//	reduce-scatter  tree   the same                        ring   (n-1) a + (n-1)/n s b
//	all-gather      tree   2 log2(n) a + (n-1 + n log2(n)) s b    ring   (n-1)(a + s b)
//	broadcast       tree   log2(n) (a + s b)               chain  (n-2+m)(a + s/m b), of m segments
//	gather, scatter pairs  (n-1)(a + s b)
//	all-to-all      pairs  (n-1)(a + s/n b)
//	barrier         tree   2 log2(n) a
//
// where s is a member's buffer, its input for all-gather and gather, and its output for scatter: gather and scatter are as fast as
// the root's own link whatever the way, so nothing is passed on. The cheaper algorithm is taken, by estimates that are the same on
// all ranks; reduce-scatter decides like all-reduce. Trees are binomial. Rings and chains pass a segment of 512 KiB on while the
// next one arrives. FP16 and BF16 travel as FP32 while they are added, so a ring moves 1.5 times their bytes.
//
// The cost model and the trees follow Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication
// Operations in MPICH" (2005); the ring follows Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for
// clusters of workstations" (2009), which shows that no all-reduce moves fewer bytes. Bus bandwidth is s/t times
// 2(n-1)/n for all-reduce and (n-1)/n for all-gather and reduce-scatter (with s the larger buffer), as in NVIDIA's
// nccl-tests, doc/PERFORMANCE.md.
//
// # TCP
//
// Each stream (group, direction, and whether it is of collectives or of Send) is a connection, dialed by its sender when
// it first sends. Payloads are written from and read into the callers' buffers. Besides, each rank keeps connections with
// the ranks at the distances 1, 2, 4, ..., over which signs of life go and failures are told: a rank of n has about
// 2 log2(n) of them, and learns in log2(n) steps which rank is lost.
//
// At connect both sides prove by HMAC-SHA256 over fresh nonces, their ranks, the mesh and the stream that they have the
// mesh's key. What is sent afterwards is neither encrypted nor authenticated: who can change packets on the network can
// change data. A network that is not trusted so far needs IPsec, WireGuard or the like beneath.
package collective
