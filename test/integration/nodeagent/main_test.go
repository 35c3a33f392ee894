// Package nodeagent_test runs the node agent against a real API server, with the token and the rules that it has in a
// cluster wherever the test is not about a Node that vanishes.
package nodeagent_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/rankwright/rankwright/test/controlplane"
)

// cluster serves every test of this package; each takes a node of its own.
var cluster *controlplane.ControlPlane

func TestMain(m *testing.M) {
	if os.Getenv(crashNode) != "" {
		if err := crash(); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	controlplane.Main(m, &cluster)
}
