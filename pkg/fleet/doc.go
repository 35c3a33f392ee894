// Package fleet says what accelerators a cluster has, which of them are free, and how they reach each other. It is pure and
// knows neither models nor engines: inventories, nodes, pods and plans come in as values, and the same values give the same
// index, in whatever order they are listed or changed.
//
// # From lists to an index
//
// A State is the lists of inventories, Nodes, plans and pods of one moment. NewSnapshot, or a Follower that goes from one moment
// to the next, works out which devices are taken and for whom, and Snapshot.Cluster returns the index in which a placement is
// planned: its own earlier plans hold nothing against it there. A Cluster can also be made of Nodes directly.
//
// # What a search looks at
//
// Devices that nothing tells apart but their free memory and their place are of one Class. The devices of a class that reach
// each other alike on a node are an Island: those in one link domain, or those that have only their host's PCIe. Free islands
// that differ in nothing but where they are form a Kind, so that a search grows with the kinds of a cluster and not with its
// nodes; an island that goes over nodes is a Fabric. A Level divides the nodes by a label.
//
//	for _, kind := range cluster.Kinds() {
//		class := cluster.Class(kind.Class)
//		for _, run := range kind.Runs {
//			// On each of kind.Members, run.Count devices of the class have run.FreeBytes free.
//		}
//	}
//
// What a Cluster returns is shared with it and its clones, and must not be changed.
//
// # Numbers
//
// All start at 0. A node's number is its place in Cluster.Nodes, in order of the names, and changes when nodes come or go. An
// island is known by its node's number and its place on the node, a device of an island by its place in NodeEntry.Devices. A
// device of the cluster has a number of its own, made by Ref, which rises in order of nodes and ids. A class keeps its number
// for the life of an index and in all its clones, so that what follows from classes alone can be kept by number for all of
// them (Shared).
package fleet
