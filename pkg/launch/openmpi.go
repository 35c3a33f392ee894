package launch

import (
	"fmt"
	"strings"
)

// openMPI is Open MPI's mpirun: a host file (`host slots=N`), by whose order slots are filled, and a rank file (`rank N=host
// slot=L`) that fixes every rank. The slot of a rank file is a logical core, so a process is bound to the core with the
// number of its local rank. Sources: mpirun(1) of Open MPI 4.1 and 5.0, sections on host files and rank files; mpi-operator's
// newConfigMap for the variables.
var openMPI = launcher{
	name:  "openmpi",
	check: (*Copy).inOrder, listsHosts: true,
	files: func(_ *Job, c *Copy) ([]File, error) {
		return []File{{c.fileName("hostfile"), openMPIHosts(c)}, {c.fileName("rankfile"), rankFile(c)}}, nil
	},
	shared: func(c *Copy, e *Environment) {
		openMPIVariables(c, e)
		e.program(c)
		e.add("-n", c.World, "--hostfile", c.path("hostfile"), "--map-by", "slot")
	},
}

func openMPIVariables(c *Copy, e *Environment) {
	e.set("OMPI_MCA_orte_default_hostfile", c.path("hostfile"))
	e.set("OMPI_MCA_orte_keep_fqdn_hostnames", "true")
}

func openMPIHosts(c *Copy) string {
	var b strings.Builder
	for i := range c.Pods {
		fmt.Fprintf(&b, "%s slots=%d\n", c.Pods[i].Host, len(c.Pods[i].Ranks))
	}
	return b.String()
}

func rankFile(c *Copy) string {
	var b strings.Builder
	for i := range c.Pods {
		p := &c.Pods[i]
		for local, rank := range p.Ranks {
			fmt.Fprintf(&b, "rank %d=%s slot=%d\n", rank, p.Host, local)
		}
	}
	return b.String()
}
