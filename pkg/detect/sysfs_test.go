package detect

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// sysfs is a composed file tree with what this package's devices add to one.
type sysfs struct{ compose.Tree }

func newSysfs(t testing.TB) sysfs { return sysfs{compose.NewTree(t)} }

func (s sysfs) detect(backend Backend) Found {
	s.Helper()
	return detectOn(s.TB, s.Host(), backend)
}

func detectOn(t testing.TB, h *host.Host, backend Backend) Found {
	t.Helper()
	return compose.Detect(t, h, backend)
}
