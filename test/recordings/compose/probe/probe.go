// Package probe looks at composed hosts through one backend, for the tests of backends.
package probe

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// Tree is a composed file tree that a backend can look at.
type Tree struct{ compose.Tree }

// NewTree returns an empty tree.
func NewTree(t testing.TB) Tree { return Tree{compose.NewTree(t)} }

// Detect returns what a backend finds on a host of the tree's files.
func (s Tree) Detect(b backend.Backend) backend.Found {
	s.Helper()
	return Detect(s.TB, s.Host(), b)
}

// Detect returns what a backend finds on a host; an error of the backend ends the test.
func Detect(t testing.TB, h *host.Host, b backend.Backend) backend.Found {
	t.Helper()
	found, err := b.Detect(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
