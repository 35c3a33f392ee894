package generic

import (
	"testing"

	"github.com/rankwright/rankwright/test/recordings/compose/probe"
)

// tree is a composed file tree with what this package's devices add to one.
type tree struct{ probe.Tree }

func newTree(t testing.TB) tree { return tree{probe.NewTree(t)} }
