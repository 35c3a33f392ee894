package huawei

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// tree is a composed file tree with what this package's devices add to one.
type tree struct{ compose.Tree }

func newTree(t testing.TB) tree { return tree{compose.NewTree(t)} }

func (s tree) detect(b backend.Backend) backend.Found {
	s.Helper()
	return detectOn(s.TB, s.Host(), b)
}

func detectOn(t testing.TB, h *host.Host, b backend.Backend) backend.Found {
	t.Helper()
	return compose.Detect(t, h, b)
}
