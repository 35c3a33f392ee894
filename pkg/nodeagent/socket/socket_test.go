package socket_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rankwright/rankwright/pkg/nodeagent/socket"
)

func listen(t *testing.T, path string) *socket.Socket {
	t.Helper()
	made, err := socket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = made.Close() })
	return made
}

// An agent that ends late leaves the socket of the next one alone, and that one takes its own away.
func TestRemoveLeavesTheNextAgentsSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	former := listen(t, path)
	next := listen(t, path)
	if err := former.Close(); err != nil {
		t.Fatal(err)
	}
	former.Remove()
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("the next agent's socket is gone: %v", err)
	}
	next.Remove()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("its own socket is left: %v", err)
	}
}
