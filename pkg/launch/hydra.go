package launch

import (
	"fmt"
	"strings"
)

// hydra is the mpiexec of MPICH and Intel MPI: a host file of `host:N`, filled in its order. Sources: MPICH's guide to Hydra
// (host file), Intel MPI's reference (I_MPI_HYDRA_HOST_FILE, I_MPI_PERHOST), mpi-operator's newConfigMap.
var hydra = launcher{
	name:  "mpich",
	check: (*Copy).inOrder, listsHosts: true,
	files: func(_ *Job, c *Copy) ([]File, error) {
		var b strings.Builder
		for i := range c.Pods {
			fmt.Fprintf(&b, "%s:%d\n", c.Pods[i].Host, len(c.Pods[i].Ranks))
		}
		return []File{{c.fileName("hydra"), b.String()}}, nil
	},
	shared: func(c *Copy, e *Environment) {
		e.set("HYDRA_HOST_FILE", c.path("hydra"))
		e.set("I_MPI_HYDRA_HOST_FILE", c.path("hydra"))
		// PERHOST would overrule the host file, so it is set only where it says the same.
		if c.equal() == nil {
			e.set("I_MPI_PERHOST", len(c.head().Ranks))
		}
		e.program(c)
	},
}
