// Package nodeagent_test runs the node agent against a real API server, with the token and the rules that it has in a
// cluster wherever the test is not about a Node that vanishes.
package nodeagent_test

import (
	"testing"

	"github.com/rankwright/rankwright/test/controlplane"
)

// cluster serves every test of this package; each takes a node of its own.
var cluster *controlplane.ControlPlane

func TestMain(m *testing.M) { controlplane.Main(m, &cluster) }
