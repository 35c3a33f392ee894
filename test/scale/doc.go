// Package scale measures the operator on a cluster that is as large as asked for and as busy as a real one: a real etcd and API server, synthetic
// nodes with their inventories, bound pods, heartbeats and inventory writes, and placements that arrive at once. The operator is a process of its
// own, with the rights of an installed one. Rates of placements stand beside what a bare client reaches that writes the same objects in the same run.
//
// Other tests use the cluster (New, Cluster.Build, Cluster.Churn), the operator's process (Child, Cluster.StartOperator), and what follows
// placements (Cluster.Follow).
package scale
