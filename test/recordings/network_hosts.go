package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["graphcore-pod-4"] = graphcorePodHost
	recordings["cerebras-user-node"] = cerebrasHost
}

// userNode is the host of a user of machines on the network.
var userNode = server(2, processor{"AMD EPYC 7742 64-Core Processor", 64, 2}, 512, ubuntu("20.04.6", "5.15.0-119"), "Dell Inc.", "PowerEdge R6525")

// graphcorePodHost is configured for a partition of four IPUs of an IPU-M2000.
func graphcorePodHost() *compose.Host {
	h := compose.New(`
The host of a Graphcore IPU-POD with a partition of 4 IPUs, which are reached over the network.

The list of gc-info is that of the guides of Argonne's AI testbed; the configuration's place is that of Graphcore's
documentation, its content is not read and left out.`)
	h.Machine(userNode)
	h.File("/etc/ipuof.conf.d/p1.conf", "{}")
	var list strings.Builder
	list.WriteString("Graphcore device listing:\nPartition: p1 [active]\n")
	for i := range 4 {
		fmt.Fprintf(&list, "-+- Id: [%d], target: [Fabric], IPU-M host: [10.1.5.10], IPU#: [%d]\n", i, 3-i)
	}
	list.WriteString("-+- Id: [4], target: [Multi IPU]\n |--- Id: [0], DNC Id: [0], IPU-M host: [10.1.5.10], IPU#: [3]\n |--- Id: [1], DNC Id: [1], IPU-M host: [10.1.5.10], IPU#: [2]\n")
	h.Command(list.String(), "gc-info", "-l")
	return h
}

// cerebrasHost is a user node of a cluster with two systems, one of which has an error.
func cerebrasHost() *compose.Host {
	h := compose.New(`
A user node of a Cerebras wafer-scale cluster with two CS systems, one of which has an error.

The place of the configuration, csctl's options and the names in its list are those of Cerebras's public documentation of
csctl and of scripts around it; the names of the systems are made up, other fields of the list are not published and left
out.`)
	h.Machine(userNode)
	h.File("/opt/cerebras/config_v2", "{}")
	h.Command(`{"items":[{"meta":{"name":"cer-cs3-01"}},{"meta":{"name":"cer-cs3-02"}}]}`, "csctl", "get", "cluster", "--system-only", "--output", "json")
	h.Command(`{"items":[{"meta":{"name":"cer-cs3-02"}}]}`, "csctl", "get", "cluster", "--system-only", "--output", "json", "--error-only")
	return h
}
