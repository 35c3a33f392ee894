// Package survey is what somebody needs to know of a host that he cannot log in to: what detection finds of it from each
// place that it runs in, how these differ, and what decides that: buses, device nodes, runtimes and rights. A survey is
// taken into a recording of the host, and read from it again anywhere.
package survey
