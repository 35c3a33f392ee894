package live

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// narrow holds what commands print to terminals of 80 and of 120 columns, but for commands that are to be copied.
func narrow(w *world) {
	for columns, commands := range map[int][]string{
		80: {
			"top", "top devices", "top nodes", "top products", "top placements -A", "tree mp/tensor", "tree mp/pipeline", "tree mp/single", "tree mp/too-large",
			"why mp/single", "why mp/tensor", "why mp/too-large", "why pod/single-0", "why node/h100-0", "why node/mi300x-0", "why device/mi300x-0/amd-0000:c7:00.0",
			"explain mp/tensor", "explain mp/pipeline", "diff mp/tensor", "recommend --model Llama-3.1-8B", "recommend --model Llama-3.1-405B",
		},
		term.LineWidth: {
			"top", "top devices", "top nodes", "top products", "top placements -A", "tree mp/tensor", "why mp/too-large", "explain mp/tensor", "explain mp/pipeline", "diff mp/tensor",
			"recommend --model Llama-3.1-8B",
		},
	} {
		for _, command := range commands {
			out := w.run(columns, w.kubeconfig, append(strings.Fields(command), "-n", home)...)
			clitest.Narrow(w.T, fmt.Sprintf("%s on %d columns", command, columns), out.Out+out.Err, columns, "Try:", "kubectl ")
		}
	}
}
