// Package nodeagent publishes what pkg/detect sees on a node: an AcceleratorInventory, labels on the Node, and a Lease as
// heartbeat. What to publish is decided by pure functions (Labels, Merge); the Agent around them reads, compares and
// applies.
//
// Two rules hold everywhere. Absence of evidence is never deletion: a device leaves the inventory, and its labels leave
// the Node, only when its backend looked and did not see it. And nothing is taken by force: every write is a
// server-side apply of the agent's own fields, and a field that somebody else holds is left alone and reported.
package nodeagent
