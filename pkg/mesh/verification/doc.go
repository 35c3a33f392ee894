// Package verification verifies a mesh over the network of its pods before a model is loaded. Each pod runs a Verifier, one
// process for all of its ranks: it meets the other pods of its copy, does the collectives of every process group that it
// has ranks in and checks their results, measures the groups and the links to the other pods, and writes a Report of what
// itself has seen. Judge joins the reports of all pods into what is wrong with which link.
//
// What is measured is TCP between pods on the processors of their nodes. NVLink, XGMI, RDMA and whatever else devices have
// among themselves are not crossed; docs/use/verification.md says what follows from a result.
package verification
