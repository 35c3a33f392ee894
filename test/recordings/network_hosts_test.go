package main

// Machines on the network are known to their tools alone.
func init() {
	for _, name := range []string{"graphcore-pod-4", "cerebras-user-node"} {
		needsTools[name] = true
	}
}
