// Package scale measures the operator on a cluster that is as large as asked for and as busy as a real one: a real etcd and API server, synthetic
// nodes with their inventories, bound pods, heartbeats and inventory writes, and placements that arrive at once. Every figure stands beside what a bare client
// reaches that writes the same objects in the same run.
package scale
