// Package integration holds the tests that cross packages and need a real API server.
package integration

import (
	"testing"

	"github.com/rankwright/rankwright/test/controlplane"
)

// cluster serves every test of this package; each takes a namespace or names of its own.
var cluster *controlplane.ControlPlane

func TestMain(m *testing.M) { controlplane.Main(m, &cluster) }
